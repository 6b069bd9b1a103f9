import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.persistence.Entity;
import javax.persistence.GeneratedValue;
import javax.persistence.Id;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.GenericGenerator;
import org.hibernate.annotations.Parameter;
import org.hibernate.cfg.Configuration;
import org.hibernate.engine.SessionFactoryImplementor;
import org.hibernate.engine.SessionImplementor;
import org.hibernate.tool.hbm2ddl.SchemaExport;

/**
 * Hibernate's own counters: tables and sequences, by optimizer.
 *
 *   take FACTORY ENTITY N    N ids; each factory is a client that holds blocks of its own
 */
class HibernateBlocks extends Steps {
    private static final String TABLE = "org.hibernate.id.enhanced.TableGenerator";
    private static final String SEQUENCE = "org.hibernate.id.enhanced.SequenceStyleGenerator";

    @Entity(name = "pooled")
    static class Pooled {
        @Id @GeneratedValue(generator = "pooled")
        @GenericGenerator(name = "pooled", strategy = TABLE, parameters = {
            @Parameter(name = "segment_value", value = "pooled"),
            @Parameter(name = "optimizer", value = "pooled"), @Parameter(name = "increment_size", value = "50")})
        Long id;
    }

    @Entity(name = "pooled_lo")
    static class PooledLo {
        @Id @GeneratedValue(generator = "pooled_lo")
        @GenericGenerator(name = "pooled_lo", strategy = TABLE, parameters = {
            @Parameter(name = "segment_value", value = "pooled_lo"),
            @Parameter(name = "optimizer", value = "pooled-lo"), @Parameter(name = "increment_size", value = "20")})
        Long id;
    }

    @Entity(name = "single")
    static class Single {
        @Id @GeneratedValue(generator = "single")
        @GenericGenerator(name = "single", strategy = TABLE, parameters = {
            @Parameter(name = "segment_value", value = "single"), @Parameter(name = "increment_size", value = "1")})
        Long id;
    }

    @Entity(name = "late")
    static class Late {
        @Id @GeneratedValue(generator = "late")
        @GenericGenerator(name = "late", strategy = TABLE, parameters = {
            @Parameter(name = "segment_value", value = "late"),
            @Parameter(name = "optimizer", value = "pooled"), @Parameter(name = "increment_size", value = "50")})
        Long id;
    }

    @Entity(name = "hilo")
    static class HiLo {
        @Id @GeneratedValue(generator = "hilo")
        @GenericGenerator(name = "hilo", strategy = TABLE, parameters = {
            @Parameter(name = "segment_value", value = "hilo"),
            @Parameter(name = "optimizer", value = "hilo"), @Parameter(name = "increment_size", value = "10")})
        Long id;
    }

    @Entity(name = "people")
    static class People {
        @Id @GeneratedValue(generator = "people")
        @GenericGenerator(name = "people", strategy = SEQUENCE, parameters = {
            @Parameter(name = "sequence_name", value = "people_seq"),
            @Parameter(name = "optimizer", value = "pooled"), @Parameter(name = "increment_size", value = "50")})
        Long id;
    }

    private static final Class<?>[] ENTITIES = {Pooled.class, PooledLo.class, Single.class, Late.class, HiLo.class, People.class};

    private final Configuration configuration = HibernateClient.configuration(ENTITIES);
    private final Map<String, SessionFactory> factories = new HashMap<>();

    public static void main(String[] args) throws Exception {
        new HibernateBlocks().serve();
    }

    @Override
    void other(String name, String[] words) {
        switch (name) {
            case "create" -> new SchemaExport(configuration).execute(false, true, false, true);
            case "take" -> take(factories.computeIfAbsent(words[1], key -> configuration.buildSessionFactory()), words[2], Integer.parseInt(words[3]));
            default -> throw new IllegalArgumentException(name);
        }
    }

    private static String className(String entity) {
        for (Class<?> type : ENTITIES) {
            if (type.getAnnotation(Entity.class).name().equals(entity)) {
                return type.getName();
            }
        }
        throw new IllegalArgumentException(entity);
    }

    private void take(SessionFactory factory, String entity, int count) {
        Session session = factory.openSession();

        try {
            for (int n = 0; n < count; n++) {
                System.out.println(entity + "|" + ((SessionFactoryImplementor) factory).getIdentifierGenerator(className(entity))
                    .generate((SessionImplementor) session, null));
            }
        } catch (RuntimeException exception) {
            Throwable cause = exception;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            System.out.println(cause.getMessage());
        } finally {
            session.close();
        }
    }

    @Override
    List<Row> add(String table, List<String> items) {
        throw new UnsupportedOperationException();
    }

    @Override
    Row give(String table, Object id, String item) {
        throw new UnsupportedOperationException();
    }
}
