<?php
// Doctrine: its tables, attached.
//
// Numbers: an entity is as it was.  With the strategy IDENTITY Doctrine asks lastval() after
// it inserts; with SEQUENCE it asks the sequence by name before, for a block of numbers.
// Both see the sequence, which an attached column keeps.
//
// Texts: let Doctrine ask hilo, by a generator of its own (HiloGenerator, below):
//     #[Id, Column(type: 'text'), GeneratedValue(strategy: 'CUSTOM'), CustomIdGenerator(HiloGenerator::class)]
//
// "orm:schema-tool:update" knows no default that is an expression, and plans to drop that of
// an attached column: leave it out.

require 'Doctrine/ORM/autoload.php';
require 'Doctrine/DBAL/autoload.php';
require 'steps.php';

use Doctrine\DBAL\DriverManager;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\EntityManagerInterface;
use Doctrine\ORM\Id\AbstractIdGenerator;
use Doctrine\ORM\Mapping as ORM;
use Doctrine\ORM\Mapping\Driver\AttributeDriver;
use Doctrine\ORM\Tools\SchemaTool;

class HiloGenerator extends AbstractIdGenerator
{
    public function generateId(EntityManagerInterface $em, $entity): mixed
    {
        $table = $em->getClassMetadata(get_class($entity))->getTableName();
        return $em->getConnection()->fetchOne('SELECT hilo_next(?)', [$table]);
    }
}

#[ORM\Entity, ORM\Table('orders')]
class Order
{
    #[ORM\Id, ORM\Column, ORM\GeneratedValue(strategy: 'IDENTITY')]
    public ?int $id = null;
    #[ORM\Column]
    public string $item;
}

#[ORM\Entity, ORM\Table('lines')]
class Line
{
    #[ORM\Id, ORM\Column(type: 'bigint'), ORM\GeneratedValue(strategy: 'IDENTITY')]
    public ?string $id = null;
    #[ORM\Column]
    public string $item;
}

#[ORM\Entity, ORM\Table('documents')]
class Document
{
    #[ORM\Id, ORM\Column(type: 'text'), ORM\GeneratedValue(strategy: 'CUSTOM'), ORM\CustomIdGenerator(HiloGenerator::class)]
    public ?string $id = null;
    #[ORM\Column]
    public string $item;
}

class Client
{
    private const CLASSES = ['orders' => Order::class, 'lines' => Line::class, 'documents' => Document::class];
    private EntityManager $em;

    public function __construct()
    {
        $environment = environment();
        $configuration = new Configuration();
        $configuration->setMetadataDriverImpl(new AttributeDriver([__DIR__]));
        // It sees all schemas.  In Symfony's configuration: schema_filter: '~^(?!hilo\.)~'
        $configuration->setSchemaAssetsFilter(fn ($name) => !preg_match('~^hilo\.~', is_string($name) ? $name : $name->getName()));
        $configuration->setProxyDir(sys_get_temp_dir());
        $configuration->setProxyNamespace('Proxies');
        $this->em = new EntityManager(
            DriverManager::getConnection(['driver' => 'pdo_pgsql', 'dbname' => $environment['database']] + $environment, $configuration),
            $configuration
        );
    }

    private function metadata(): array
    {
        return array_map(fn ($class) => $this->em->getClassMetadata($class), array_values(self::CLASSES));
    }

    public function create(): void
    {
        (new SchemaTool($this->em))->createSchema($this->metadata());
    }

    public function attach(string $table): void
    {
        $this->em->getConnection()->fetchOne('SELECT hilo.attach(?)', [$table]);
    }

    public function add(string $table, array $items): array
    {
        $entities = [];
        foreach ($items as $item) {
            $entity = new (self::CLASSES[$table])();
            $entity->item = $item;
            $this->em->persist($entity);
            $entities[] = $entity;
        }
        $this->em->flush();
        return array_map(fn ($entity) => ['id' => $entity->id, 'item' => $entity->item], $entities);
    }

    public function give(string $table, string $id, string $item): array
    {
        $this->em->getConnection()->insert($table, ['id' => $id, 'item' => $item]);
        return ['id' => $id, 'item' => $item];
    }

    public function truncate(): void
    {
        $this->em->clear();
        $connection = $this->em->getConnection();
        foreach ($connection->createSchemaManager()->listTableNames() as $table) {
            $connection->executeStatement($connection->getDatabasePlatform()->getTruncateTableSQL($table, true));
        }
    }

    public function dump(string $file): void
    {
        $connection = $this->em->getConnection();
        foreach ($connection->createSchemaManager()->listTables() as $table) {
            $sql = $connection->getDatabasePlatform()->getCreateTableSQL($table);
            file_put_contents($file, implode(";\n", $sql) . ";\n", FILE_APPEND);
        }
    }

    // As orm:schema-tool:drop --full-database does.
    public function drop(): void
    {
        $this->em->clear();
        (new SchemaTool($this->em))->dropDatabase();
    }

    public function load(string $file): void
    {
        $this->create();
    }
}

serve(new Client());
