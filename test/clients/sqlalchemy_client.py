# SQLAlchemy: its tables, attached, with the same models.
#
# Numbers: a model is as it was.  create_all() makes the serial column,
# hilo.attach() keeps its sequence; inserts leave the column out, and RETURNING
# brings the ids, also those of many rows in one statement.
#
# Texts: FetchedValue() says that the server knows the default, so that
# RETURNING brings it; or server_default=text("hilo_next('documents')"), by which
# create_all() makes it.
#     id = Column(Text, FetchedValue(), primary_key=True)
#
# Reflected tables know the default, and work as the models do.
import sys

from sqlalchemy import BigInteger, Column, FetchedValue, Integer, MetaData, Text, create_engine, text
from sqlalchemy.orm import Session, declarative_base
from sqlalchemy.schema import CreateTable

import steps

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


# All of the connection is in the environment, as for psql.
engine = create_engine("postgresql+psycopg2://")
models_of = {model.__tablename__: model for model in (Order, Line, Document)}


def create():
    Base.metadata.create_all(engine)


def attach(table):
    with engine.begin() as connection:
        connection.execute(text("SELECT hilo.attach(:name)"), {"name": table})


def save(table, *rows):
    with Session(engine, expire_on_commit=False) as session:
        session.add_all(rows)
        session.commit()
    steps.show(table, *rows)


def add(table, items):
    save(table, *[models_of[table](item=item) for item in items])


def give(table, id, item):
    save(table, models_of[table](id=int(id) if id.isdigit() else id, item=item))


def reflected():
    metadata = MetaData()
    metadata.reflect(engine, views=True)
    return metadata


def synchronize():
    create()


# Insert by what reflection says.  A default that contains nextval would be taken for that
# of a sequence, and be written anew.
def reflect():
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE parcels (id bigint PRIMARY KEY DEFAULT hilo_next_number('parcels'), item text)"))
    metadata = MetaData()
    metadata.reflect(engine, schema="public")
    with engine.begin() as connection:
        for name in (*models_of, "parcels"):
            table = metadata.tables[f"public.{name}"]
            row = connection.execute(table.insert().values(item="reflected").returning(table.c.id, table.c.item)).one()
            steps.show(name, row)
            result = connection.execute(table.insert().values(item="reflected, too"))
            print(name, result.inserted_primary_key[0], "reflected, too", sep="|")
    print("parcels:", metadata.tables["public.parcels"].c.id.server_default.arg)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE parcels"))


# What Alembic would change: one line each.
def alembic():
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "include_schemas": True,
                "include_name": lambda name, kind, parents: not (kind == "schema" and name == "hilo"),
            },
        )
        for difference in compare_metadata(context, Base.metadata):
            print(difference)


def truncate():
    tables = ", ".join(reflected().tables)
    with engine.begin() as connection:
        connection.execute(text(f"TRUNCATE {tables} RESTART IDENTITY CASCADE"))


def dump(file):
    with open(file, "w") as output:
        for table in reflected().sorted_tables:
            output.write(str(CreateTable(table).compile(engine)) + ";\n")


def drop():
    reflected().drop_all(engine)


def load(file):
    with engine.begin() as connection, open(file) as statements:
        connection.exec_driver_sql(statements.read())


steps.serve(sys.modules[__name__])
