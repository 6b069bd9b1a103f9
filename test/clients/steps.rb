# What the programs in Ruby share: commands come in, rows go out.  See test/t/HiloTest.pm.

def show(table, rows)
  rows.each { |row| puts [table, row[:id], row[:item]].join('|') }
end

# Do each command by the method of its name.
def serve(client)
  $stdout.sync = true
  while (line = $stdin.gets)
    name, *words = line.chomp.split(' ', 4)
    case name
    when 'add'
      table, count, item = words
      count = count.to_i
      show(table, client.add(table, count == 1 ? [item] : (1..count).map { |n| "#{item} #{n}" }))
    when 'give'
      table, id, item = words
      show(table, [client.give(table, table == 'documents' ? id : id.to_i, item)])
    else
      client.public_send(name, *words)
    end
    puts 'done'
  end
end
