import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.persistence.Entity;
import javax.persistence.GeneratedValue;
import javax.persistence.GenerationType;
import javax.persistence.Id;
import javax.persistence.Table;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.GenericGenerator;
import org.hibernate.cfg.Configuration;
import org.hibernate.engine.SessionImplementor;
import org.hibernate.id.IdentifierGenerator;
import org.hibernate.tool.hbm2ddl.SchemaExport;
import org.hibernate.tool.hbm2ddl.SchemaUpdate;

/**
 * Hibernate: its tables, attached.
 *
 * Numbers: GenerationType.IDENTITY, which leaves the column out and reads the generated key.  It
 * needs hibernate.jdbc.use_get_generated_keys, or it asks currval().
 *
 * Texts: a generator of its own, HiloId.
 */
class HibernateClient extends Steps {
    @Entity(name = "orders")
    @Table(name = "orders")
    static class Order {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY)
        Integer id;
        String item;
    }

    @Entity(name = "lines")
    @Table(name = "lines")
    static class Line {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY)
        Long id;
        String item;
    }

    @Entity(name = "documents")
    @Table(name = "documents")
    static class Document {
        @Id @GeneratedValue(generator = "hilo")
        @GenericGenerator(name = "hilo", strategy = "HibernateClient$HiloId")
        String id;
        String item;
    }

    /** Asks hilo for an id of the collection that is named like the entity. */
    public static class HiloId implements IdentifierGenerator {
        @Override
        public Serializable generate(SessionImplementor session, Object entity) {
            return (Serializable) ((Session) session).createSQLQuery("SELECT hilo_next(:name)")
                .setString("name", entity.getClass().getAnnotation(Table.class).name()).uniqueResult();
        }
    }

    private final Configuration configuration = configuration(Order.class, Line.class, Document.class);
    private final SessionFactory factory = configuration.buildSessionFactory();

    static Configuration configuration(Class<?>... entities) {
        Configuration configuration = new Configuration()
            .setProperty("hibernate.connection.driver_class", "org.postgresql.Driver")
            .setProperty("hibernate.connection.url", URL)
            .setProperty("hibernate.connection.username", USER)
            .setProperty("hibernate.connection.password", "")
            .setProperty("hibernate.dialect", "org.hibernate.dialect.PostgreSQLDialect")
            .setProperty("hibernate.jdbc.use_get_generated_keys", "true")
            .setProperty("hibernate.temp.use_jdbc_metadata_defaults", "false");

        for (Class<?> entity : entities) {
            configuration.addAnnotatedClass(entity);
        }
        return configuration;
    }

    public static void main(String[] args) throws Exception {
        new HibernateClient().serve();
    }

    private static Row row(Object entity) {
        if (entity instanceof Order order) {
            return new Row(order.id, order.item);
        }
        if (entity instanceof Line line) {
            return new Row(line.id, line.item);
        }
        Document document = (Document) entity;
        return new Row(document.id, document.item);
    }

    private static Object entity(String table, String item) {
        switch (table) {
            case "orders": {
                Order order = new Order();
                order.item = item;
                return order;
            }
            case "lines": {
                Line line = new Line();
                line.item = item;
                return line;
            }
            default: {
                Document document = new Document();
                document.item = item;
                return document;
            }
        }
    }

    @Override
    List<Row> add(String table, List<String> items) {
        List<Row> rows = new ArrayList<>();
        Session session = factory.openSession();

        session.beginTransaction();
        for (String item : items) {
            Object entity = entity(table, item);
            session.save(entity);
            rows.add(row(entity));
        }
        session.getTransaction().commit();
        session.close();
        return rows;
    }

    @Override
    Row give(String table, Object id, String item) {
        sql("INSERT INTO " + table + " (id, item) VALUES (:id, :item)", Map.of("id", id, "item", item));
        return new Row(id, item);
    }

    private void sql(String command, Map<String, Object> parameters) {
        Session session = factory.openSession();

        session.beginTransaction();
        session.createSQLQuery(command).setProperties(parameters).executeUpdate();
        session.getTransaction().commit();
        session.close();
    }

    @Override
    void other(String name, String[] words) {
        switch (name) {
            case "create", "load" -> new SchemaExport(configuration).execute(false, true, false, true);
            case "attach" -> sql("DO $$BEGIN PERFORM hilo.attach('" + words[1] + "'); END$$", Map.of());
            case "synchronize" -> new SchemaUpdate(configuration).execute(false, true);
            case "drop" -> new SchemaExport(configuration).drop(false, true);
            default -> throw new IllegalArgumentException(name);
        }
    }
}
