import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/** What the programs in Java share: commands come in, rows go out.  See test/t/HiloTest.pm. */
abstract class Steps {
    record Row(Object id, String item) {}

    static final String USER = System.getenv("PGUSER");
    static final String URL = "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");

    abstract List<Row> add(String table, List<String> items) throws Exception;

    abstract Row give(String table, Object id, String item) throws Exception;

    /** Do any other command; what is printed is its answer. */
    abstract void other(String name, String[] words) throws Exception;

    private void show(String table, List<Row> rows) {
        for (Row row : rows) {
            System.out.println(table + "|" + row.id + "|" + row.item);
        }
    }

    private void step(String[] words) throws Exception {
        String table = words.length > 1 ? words[1] : null;

        switch (words[0]) {
            case "add" -> {
                int count = Integer.parseInt(words[2]);
                List<String> items = new ArrayList<>();
                for (int n = 1; n <= count; n++) {
                    items.add(count == 1 ? words[3] : words[3] + " " + n);
                }
                show(table, add(table, items));
            }
            case "give" -> {
                Object id = switch (table) {
                    case "orders" -> Integer.valueOf(words[2]);
                    case "lines" -> Long.valueOf(words[2]);
                    default -> words[2];
                };
                show(table, List.of(give(table, id, words[3])));
            }
            default -> other(words[0], words);
        }
    }

    void serve() throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        String line;

        while ((line = commands.readLine()) != null) {
            step(line.split(" ", 4));
            System.out.println("done");
        }
    }
}
