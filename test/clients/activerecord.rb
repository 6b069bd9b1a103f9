# ActiveRecord, of Rails: its tables, attached, with the same models.
#
# Numbers: a model is as it was.  A migration attaches the table:
#     execute "SELECT hilo.attach('orders')"
# Inserts leave the column out, and RETURNING brings the id.
#
# Texts:
#     create_table :documents, id: :text, default: -> { "hilo_next('documents'::text)" }
# and, to know the id before the insert, prefetch_primary_key? and next_sequence_value below.
#
# structure.sql (config.active_record.schema_format = :sql) has the defaults, and so the
# tables are attached when it is loaded.  schema.rb takes them for plain sequences: attach
# after loading it, or use the setting.
require 'active_record'
require 'active_record/fixtures'
require 'tmpdir'
require_relative 'steps'

ActiveRecord::Base.establish_connection(
  adapter: 'postgresql', host: ENV['PGHOST'], port: ENV['PGPORT'],
  username: ENV['PGUSER'], database: ENV['PGDATABASE'], min_messages: 'warning'
)
ActiveRecord::Migration.verbose = false

class Order < ActiveRecord::Base; end
class Line < ActiveRecord::Base; end

# The id is known before the insert; insert_all and others still draw by the default.
class Document < ActiveRecord::Base
  def self.prefetch_primary_key?
    true
  end

  def self.next_sequence_value
    connection.select_value("SELECT hilo_next('documents')")
  end
end

MODELS = { 'orders' => Order, 'lines' => Line, 'documents' => Document }.freeze

class Client
  FORMAT = ARGV.fetch(0)

  def connection
    ActiveRecord::Base.connection
  end

  def create
    ActiveRecord::Schema.define do
      create_table(:orders, id: :serial) { |table| table.text :item }
      create_table(:lines) { |table| table.text :item }
      create_table(:documents, id: :text, default: -> { "hilo_next('documents'::text)" }) { |table| table.text :item }
    end
  end

  def attach(table)
    connection.execute("SELECT hilo.attach(#{connection.quote(table)})")
    MODELS[table].reset_column_information
  end

  def add(table, items)
    model = MODELS[table]
    return [model.create!(item: items[0])] if items.size == 1

    rows = model.insert_all!(items.map { |item| { item: item } }, returning: %i[id item]).to_a
    rows.map(&:symbolize_keys)
  end

  def give(table, id, item)
    MODELS[table].create!(id: id, item: item)
  end

  # What the tests of an application do first: ids that are made of labels, and then the
  # sequences set behind them.  A default that contains nextval would be taken for that of
  # a sequence.
  def fixtures
    connection.execute("CREATE TABLE parcels (id bigint PRIMARY KEY DEFAULT hilo_next_number('parcels'), item text)")
    Dir.mktmpdir do |folder|
      %w[orders parcels].each do |table|
        File.write("#{folder}/#{table}.yml", "ann:\n  item: fixture\nbob:\n  id: 5000\n  item: fixture\n")
      end
      File.write("#{folder}/documents.yml", "ann:\n  id: documents/ann\n  item: fixture\n")
      ActiveRecord::FixtureSet.create_fixtures(folder, %w[orders parcels documents])
    end
    [Order, Document].each { |model| show(model.table_name, model.where(item: 'fixture')) }
    puts "parcels: #{connection.pk_and_sequence_for('parcels').inspect}"
    connection.drop_table(:parcels)
  end

  def truncate
    connection.truncate_tables(*connection.tables)
  end

  def tasks
    configuration = ActiveRecord::DatabaseConfigurations::HashConfig.new(
      'test', 'primary',
      adapter: 'postgresql', host: ENV['PGHOST'], port: ENV['PGPORT'], username: ENV['PGUSER'], database: ENV['PGDATABASE']
    )
    ActiveRecord::Tasks::PostgreSQLDatabaseTasks.new(configuration)
  end

  def dump(file)
    if FORMAT == 'sql'
      tasks.structure_dump(file, nil)
    else
      # From Rails 7.2 on the connections are asked for.
      from = ActiveRecord.version < Gem::Version.new('7.2') ? connection : ActiveRecord::Base.connection_pool
      File.open(file, 'w') { |output| ActiveRecord::SchemaDumper.dump(from, output) }
    end
  end

  def drop
    (connection.tables + connection.views).each { |table| connection.drop_table(table, force: :cascade) }
  end

  def load(file)
    if FORMAT == 'sql'
      tasks.structure_load(file, nil)
    else
      # From Rails 7.2 on it makes the schema, too, which CREATE EXTENSION takes over.  Rails
      # loads it into an empty database; here the extension is there.
      File.write(file, File.read(file).sub(/^ *create_schema "hilo"$/, ''))
      Kernel.load(file)
    end
    MODELS.each_value(&:reset_column_information)
  end
end

serve(Client.new)
