"""The shop's tools that only look something up."""

from sqlmodel import col, func, select

from taugraph.domains.errors import ToolRefusal
from taugraph.domains.retail.models import Product, User, Variant
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool
from taugraph.tools.lookups import find_record
from taugraph.tools.retail.documents import (
    Document,
    order_document,
    product_document,
    user_document,
    variant_document,
)
from taugraph.tools.retail.lookups import find_order, find_user


@domain_tool(ToolKind.READ)
def find_user_id_by_email(email: str, session: DatabaseSession) -> str:
    """Find a customer's user id by the email address of the profile.

    Args:
        email: Email address, such as "someone@example.com".
    """
    wanted = select(User).where(func.lower(User.email) == email.lower()).order_by(col(User.position)).limit(1)
    if (user := session.exec(wanted).first()) is None:
        raise ToolRefusal(f"there is no user with the email address {email!r}")
    return user.user_id


@domain_tool(ToolKind.READ)
def find_user_id_by_name_zip(first_name: str, last_name: str, zip: str, session: DatabaseSession) -> str:
    """Find a customer's user id by full name and zip code, where the email address is not known.

    Args:
        first_name: Given name.
        last_name: Family name.
        zip: Zip code of the profile's address.
    """
    wanted = (
        select(User)
        .where(func.lower(User.first_name) == first_name.lower(), func.lower(User.last_name) == last_name.lower())
        .where(User.zip == zip)
        .order_by(col(User.position))
        .limit(1)
    )
    if not isinstance(zip, str) or (user := session.exec(wanted).first()) is None:
        raise ToolRefusal(f"there is no user {first_name} {last_name} with zip code {zip!r}")
    return user.user_id


@domain_tool(ToolKind.READ)
def get_user_details(user_id: str, session: DatabaseSession) -> Document:
    """Show a customer's profile: name, address, email, payment methods and order ids.

    Args:
        user_id: The customer's user id.
    """
    return user_document(session, find_user(session, user_id))


@domain_tool(ToolKind.READ)
def get_order_details(order_id: str, session: DatabaseSession) -> Document:
    """Show an order: status, items, delivery address, parcels and payment history.

    Args:
        order_id: The order's id with its leading "#", such as "#W1234567".
    """
    return order_document(session, find_order(session, order_id))


@domain_tool(ToolKind.READ)
def get_product_details(product_id: str, session: DatabaseSession) -> Document:
    """Show a product with all its variants, their options, prices and availability.

    Args:
        product_id: The product's id; an item id is something else.
    """
    product = find_record(session, Product, (product_id,), f"there is no product {product_id!r}")
    return product_document(session, product)


@domain_tool(ToolKind.READ)
def get_item_details(item_id: str, session: DatabaseSession) -> Document:
    """Show one variant of a product: its options, price and availability.

    Args:
        item_id: The item's id; a product id is something else.
    """
    return variant_document(find_record(session, Variant, (item_id,), f"there is no item {item_id!r}"))


@domain_tool(ToolKind.READ)
def list_all_product_types(session: DatabaseSession) -> Document:
    """List the names of all products with their product ids."""
    products = session.exec(select(Product)).all()
    return {product.name: product.product_id for product in sorted(products, key=lambda product: product.name)}
