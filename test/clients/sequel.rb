# Sequel: its tables, attached.
#
# Numbers: as before; a migration attaches the table: run "SELECT hilo.attach('orders')".
# Inserts leave the column out, and RETURNING brings the id: Sequel asks the catalogs for
# the primary key, and does not take the default for a sequence.
#
# Texts: the same, with
#     column :id, :text, primary_key: true, default: Sequel.lit("hilo_next('documents')")
require 'sequel'
require_relative 'steps'

DB = Sequel.connect(
  adapter: 'postgres', host: ENV['PGHOST'], port: ENV['PGPORT'],
  user: ENV['PGUSER'], database: ENV['PGDATABASE']
)
DB.extension :schema_dumper
Sequel.extension :migration

class Client
  def create
    DB.create_table(:orders) do
      primary_key :id, serial: true
      column :item, :text
    end
    DB.create_table(:lines) do
      primary_key :id, :bigserial, serial: true
      column :item, :text
    end
    DB.create_table(:documents) do
      column :id, :text, primary_key: true
      column :item, :text
    end
  end

  def attach(table)
    DB.get(Sequel.function(Sequel.qualify(:hilo, :attach), table))
  end

  # import() gives no ids; multi_insert with return: does.
  def add(table, items)
    return [{ id: DB[table.to_sym].insert(item: items[0]), item: items[0] }] if items.size == 1

    ids = DB[table.to_sym].import([:item], items.map { |item| [item] }, return: :primary_key)
    ids.zip(items).map { |id, item| { id: id, item: item } }
  end

  def give(table, id, item)
    { id: DB[table.to_sym].insert(id: id, item: item), item: item }
  end

  # The sequences that Sequel sees behind primary keys.  A default that contains nextval would
  # be taken for that of one.
  def sequences
    DB.run("CREATE TABLE parcels (id bigint PRIMARY KEY DEFAULT hilo_next_number('parcels'), item text)")
    DB.tables.each { |table| DB.reset_primary_key_sequence(table) }
    puts "parcels: #{DB.primary_key_sequence(:parcels).inspect}"
    DB.drop_table(:parcels)
  end

  def truncate
    DB.tables.each { |table| DB[table].truncate(cascade: true, restart: true) }
  end

  def dump(file)
    File.write(file, DB.dump_schema_migration(same_db: true))
  end

  def drop
    DB.drop_view(*DB.views, cascade: true) unless DB.views.empty?
    DB.drop_table(*DB.tables, cascade: true)
  end

  def load(file)
    eval(File.read(file)).apply(DB, :up)
  end
end

serve(Client.new)
