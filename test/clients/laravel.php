<?php
// Laravel's Eloquent and its schema builder: tables, attached, with the
// same models.
//
// Numbers: a model is as it was.  A migration attaches the table:
//     DB::select("SELECT hilo.attach('orders')");
// Inserts leave the column out, and "returning" brings the id.
//
// Texts: the model says
//     protected $keyType = 'string';
// and the migration
//     $table->text('id')->primary()->default(DB::raw("hilo_next('documents')"));
//
// An insert of many rows gives no ids: save() each, or fetch them.

require 'Illuminate/Database/autoload.php';
require 'steps.php';

use Illuminate\Database\Capsule\Manager;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\Schema\Blueprint;

class Order extends Model
{
    protected $table = 'orders';
    protected $guarded = [];
    public $timestamps = false;
}

class Line extends Order
{
    protected $table = 'lines';
}

class Document extends Order
{
    protected $table = 'documents';
    protected $keyType = 'string';
}

class Client
{
    private const MODELS = ['orders' => Order::class, 'lines' => Line::class, 'documents' => Document::class];
    private Manager $manager;

    public function __construct()
    {
        $environment = environment();
        $this->manager = new Manager();
        $this->manager->addConnection([
            'driver' => 'pgsql', 'charset' => 'utf8', 'schema' => 'public',
            'username' => $environment['user'], 'password' => '',
        ] + $environment);
        $this->manager->bootEloquent();
    }

    private function schema()
    {
        return $this->manager->getConnection()->getSchemaBuilder();
    }

    public function create(): void
    {
        $this->schema()->create('orders', function (Blueprint $table) {
            $table->increments('id');
            $table->text('item');
        });
        $this->schema()->create('lines', function (Blueprint $table) {
            $table->id();
            $table->text('item');
        });
        $this->schema()->create('documents', function (Blueprint $table) {
            $table->text('id')->primary();
            $table->text('item');
        });
    }

    public function attach(string $table): void
    {
        $this->manager->getConnection()->select('SELECT hilo.attach(?)', [$table]);
    }

    public function add(string $table, array $items): array
    {
        return array_map(fn ($item) => $this->insert($table, ['item' => $item]), $items);
    }

    public function give(string $table, string $id, string $item): Model
    {
        return $this->insert($table, ['id' => $id, 'item' => $item]);
    }

    private function insert(string $table, array $row): Model
    {
        $model = new (self::MODELS[$table])($row);
        $model->save();
        return $model;
    }

    // As the trait DatabaseTruncation does: all tables of the search_path.
    public function truncate(): void
    {
        foreach ($this->tables() as $table) {
            $this->manager->getConnection()->table($table)->truncate();
        }
    }

    private function tables(): array
    {
        return $this->names('Tables', 'tablename');
    }

    // Before version 11 these were getAllTables() and getAllViews().
    private function names(string $what, string $old_column): array
    {
        $schema = $this->schema();
        if (method_exists($schema, "getAll$what")) {
            return array_column($schema->{"getAll$what"}(), $old_column);
        }
        return array_column($schema->{"get$what"}($schema->getCurrentSchemaListing()), 'name');
    }

    public function dump(string $file): void
    {
        $views = $this->names('Views', 'viewname');
        file_put_contents($file, implode("\n", array_merge($this->tables(), $views)));
    }

    // As migrate:fresh --drop-views --drop-types does.
    public function drop(): void
    {
        $this->schema()->dropAllViews();
        $this->schema()->dropAllTables();
        $this->schema()->dropAllTypes();
    }

    public function load(string $file): void
    {
        $this->create();
    }
}

serve(new Client());
