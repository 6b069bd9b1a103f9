# Django: its tables, attached to collections by a migration, with the same models.
#
# Numbers: a model is as it was.  A migration attaches the table that another one
# has made with a serial or identity column:
#     migrations.RunSQL("SELECT hilo_attach('orders')")
# Inserts leave the column out, and RETURNING brings the ids.
#
# Texts: a field that is text to the database, and to Django is one that the
# database fills in: DocumentId, below.  (From Django 5 on, a TextField with
# db_default will do.)
import os
import re
import django
from django.conf import settings
from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": os.environ["PGDATABASE"],
            "USER": os.environ["PGUSER"],
            "HOST": os.environ["PGHOST"],
            "PORT": os.environ["PGPORT"],
        }
    },
    USE_TZ=True,
)
django.setup()


class DocumentId(models.TextField, models.AutoField):
    validators = []  # not those of an integer

    def get_prep_value(self, value):
        return value

    def rel_db_type(self, connection):
        return self.db_type(connection)


class Order(models.Model):
    id = models.AutoField(primary_key=True)
    item = models.TextField()

    class Meta:
        app_label = "shop"
        db_table = "orders"


class Line(models.Model):
    id = models.BigAutoField(primary_key=True)
    item = models.TextField()

    class Meta:
        app_label = "shop"
        db_table = "lines"
        managed = False  # somebody else has made it


class Document(models.Model):
    id = DocumentId(primary_key=True)
    item = models.TextField()

    class Meta:
        app_label = "shop"
        db_table = "documents"


def beyond(id):
    """An id that nobody has claimed."""
    return re.sub(r"\d+", lambda number: str(int(number.group()) + 100), str(id))


def show(*rows):
    for row in rows:
        print(row._meta.db_table, row.id, row.item, sep="|")


def migrate(operation):
    with connection.schema_editor() as editor:
        migration = migrations.Migration("0001", "shop")
        migration.operations = [operation]
        migration.apply(ProjectState(), editor)


def insert(model):
    table = model._meta.db_table
    fields = [(field.name, field.clone()) for field in model._meta.fields]
    if model._meta.managed:
        migrate(migrations.CreateModel(model.__name__, fields, {"db_table": table}))
    else:
        migrate(
            migrations.RunSQL(
                f"CREATE TABLE {table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item text)"
            )
        )
    first = {"id": "documents/1-A"} if model is Document else {}
    show(model.objects.create(item="before", **first))
    migrate(migrations.RunSQL([("SELECT hilo_attach(%s)", [table])]))

    show(model.objects.create(item="single"))
    bulk = model.objects.bulk_create([model(item=f"bulk {n + 1}") for n in range(3)])
    show(*bulk)
    show(model.objects.create(id=beyond(bulk[-1].id), item="given"))
    for _ in range(3):
        show(*model.objects.bulk_create([model(item=f"bulk {n + 1}") for n in range(100)]))


for model in (Order, Line, Document):
    insert(model)
# Django does not compare its models with the database.
for model in (Order, Line, Document):
    show(model.objects.create(item="synchronized"))
