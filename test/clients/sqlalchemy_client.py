# SQLAlchemy: its tables, attached to collections, with the same models.
#
# Numbers: a model is as it was.  create_all() makes the serial column,
# hilo_attach() replaces its sequence; inserts leave the column out, and RETURNING
# brings the ids, also those of many rows in one statement.
#
# Texts: FetchedValue() says that the server knows the default, so that
# RETURNING brings it; or server_default=text("hilo_next('documents')"), by which
# create_all() makes it.
#     id = Column(Text, FetchedValue(), primary_key=True)
import re

from sqlalchemy import BigInteger, Column, FetchedValue, Integer, Text, create_engine, text
from sqlalchemy.orm import Session, declarative_base

Base = declarative_base()


class Order(Base):
    __tablename__ = "orders"
    id = Column(Integer, primary_key=True)
    item = Column(Text)


class Line(Base):
    __tablename__ = "lines"
    id = Column(BigInteger, primary_key=True)
    item = Column(Text)


class Document(Base):
    __tablename__ = "documents"
    id = Column(Text, FetchedValue(), primary_key=True)
    item = Column(Text)


def show(*rows):
    for row in rows:
        print(row.__tablename__, row.id, row.item, sep="|")


def beyond(id):
    """An id that nobody has claimed."""
    return re.sub(r"\d+", lambda number: str(int(number.group()) + 100), str(id))


def add(engine, *rows):
    with Session(engine, expire_on_commit=False) as session:
        session.add_all(rows)
        session.commit()
    show(*rows)


def insert(engine, model):
    first = {"id": "documents/1-A"} if model is Document else {}
    add(engine, model(item="before", **first))
    with engine.begin() as connection:
        connection.execute(text("SELECT hilo_attach(:name)"), {"name": model.__tablename__})

    add(engine, model(item="single"))
    bulk = [model(item=f"bulk {n + 1}") for n in range(3)]
    add(engine, *bulk)
    given = beyond(bulk[-1].id)
    add(engine, model(id=given if model is Document else int(given), item="given"))
    for _ in range(3):
        add(engine, *[model(item=f"bulk {n + 1}") for n in range(100)])


# All of the connection is in the environment, as for psql.
engine = create_engine("postgresql+psycopg2://")
Base.metadata.create_all(engine)
for model in (Order, Line, Document):
    insert(engine, model)
Base.metadata.create_all(engine)
for model in (Order, Line, Document):
    add(engine, model(item="synchronized"))
