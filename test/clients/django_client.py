# Django: its tables, attached by a migration, with the same models.
#
# Numbers: a model is as it was.  A migration attaches the table that another one
# has made with a serial or identity column:
#     migrations.RunSQL("SELECT hilo.attach('orders')")
# Inserts leave the column out, and RETURNING brings the ids.
#
# Texts: a field whose default is drawn by a function, document_id() below, so that
# fixtures with ids load, too.
import os
import sys

import django
from django.conf import settings
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState

import steps

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


def document_id():
    with connection.cursor() as cursor:
        cursor.execute("SELECT hilo_next('documents')")
        return cursor.fetchone()[0]


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
        managed = False  # made by other means


class Document(models.Model):
    id = models.TextField(primary_key=True, default=document_id)
    item = models.TextField()

    class Meta:
        app_label = "shop"
        db_table = "documents"


models_of = {model._meta.db_table: model for model in (Order, Line, Document)}


def migrate(operation):
    with connection.schema_editor() as editor:
        migration = migrations.Migration("0001", "shop")
        migration.operations = [operation]
        migration.apply(ProjectState(), editor)


def create():
    for table, model in models_of.items():
        fields = [(field.name, field.clone()) for field in model._meta.fields]
        if model._meta.managed:
            migrate(migrations.CreateModel(model.__name__, fields, {"db_table": table}))
        else:
            migrate(
                migrations.RunSQL(
                    f"CREATE TABLE {table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item text)"
                )
            )


def attach(table):
    migrate(migrations.RunSQL([("SELECT hilo.attach(%s)", [table])]))


def add(table, items):
    model = models_of[table]
    if len(items) == 1:
        steps.show(table, model.objects.create(item=items[0]))
    else:
        steps.show(table, *model.objects.bulk_create([model(item=item) for item in items]))


def give(table, id, item):
    steps.show(table, models_of[table].objects.create(id=id, item=item))


# As the command flush does, for all tables that Django sees, not those of its models only.
def truncate():
    connection.ops.execute_sql_flush(
        connection.ops.sql_flush(
            no_style(), connection.introspection.table_names(), reset_sequences=True, allow_cascade=True
        )
    )


def dump(file):
    with open(file, "w") as output:
        call_command("inspectdb", include_views=True, stdout=output)


def drop():
    with connection.schema_editor() as editor:
        for table in connection.introspection.table_names():
            editor.execute(editor.sql_delete_table % {"table": editor.quote_name(table)})


def load(file):
    create()


steps.serve(sys.modules[__name__])
