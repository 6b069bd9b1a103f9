# ha.py: the cluster, the events and the count of run.sh, which see.
import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import psycopg2
import yaml

args = argparse.ArgumentParser()
for name in ('work', 'bindir', 'user', 'only', 'result', 'rounds'):
    args.add_argument('--' + name)
args = args.parse_args()

WORK = args.work
PREFIX = 'hilo%d-' % os.getpid()
NETWORK = '10.77.%d' % (os.getpid() % 250)
HUBS = ('hub1', 'hub2', 'hub3')
MEMBERS = ('member1', 'member2', 'member3')
ADDRESS = {'hub1': 11, 'hub2': 12, 'hub3': 13, 'client': 20, 'member1': 21, 'member2': 22, 'member3': 23, 'standby': 31}
CONNECT = 'dbname=postgres user=postgres connect_timeout=2 target_session_attrs=read-write host=%s port=5432'


def ip(name):
    return '%s.%d' % (NETWORK, ADDRESS[name])


def say(text):
    print('%s %s' % (time.strftime('%H:%M:%S'), text), flush=True)


def run(*command, check=True, **kwargs):
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          **kwargs)


def inside(name, *command):
    """A command in the namespace of a node, as the user who owns the servers."""
    return ('ip', 'netns', 'exec', PREFIX + name, 'setpriv', '--reuid=' + args.user, '--regid=' + args.user, '--init-groups',
            'env', 'HOME=' + WORK, 'PGUSER=postgres') + command


def start(name, log, *command):
    with open('%s/%s.log' % (WORK, log), 'a') as out:
        return subprocess.Popen(inside(name, *command), stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=WORK,
                                start_new_session=True)


def pids(name):
    return [int(pid) for pid in run('ip', 'netns', 'pids', PREFIX + name, check=False).stdout.split()]


def command_of(pid):
    try:
        with open('/proc/%d/cmdline' % pid) as file:
            return file.read().replace('\0', ' ')
    except OSError:
        return ''


def signal_all(name, number, pattern=''):
    """Send a signal to the processes of a node, or to those of them whose command line has the pattern."""
    for pid in pids(name):
        if pattern in command_of(pid):
            try:
                os.kill(pid, number)
            except OSError:
                pass


def wait_for(what, condition, limit=120):
    end = time.time() + limit
    while time.time() < end:
        try:
            if condition():
                return True
        except Exception:
            pass
        time.sleep(0.2)
    say('waited in vain: ' + what)
    return False


#
# The network
#


def make_network():
    run('ip', 'netns', 'add', PREFIX + 'net')
    run('ip', '-n', PREFIX + 'net', 'link', 'add', 'name', 'br0', 'type', 'bridge')
    run('ip', '-n', PREFIX + 'net', 'link', 'set', 'br0', 'up')
    for name in ADDRESS:
        run('ip', 'netns', 'add', PREFIX + name)
        run('ip', '-n', PREFIX + 'net', 'link', 'add', 'name', 'v' + name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', PREFIX + name)
        run('ip', '-n', PREFIX + 'net', 'link', 'set', 'v' + name, 'master', 'br0', 'up')
        run('ip', '-n', PREFIX + name, 'addr', 'add', ip(name) + '/24', 'dev', 'eth0')
        run('ip', '-n', PREFIX + name, 'link', 'set', 'eth0', 'up')
        run('ip', '-n', PREFIX + name, 'link', 'set', 'lo', 'up')


def remove_network():
    for name in list(ADDRESS) + ['net']:
        signal_all(name, signal.SIGKILL)
        run('ip', 'netns', 'del', PREFIX + name, check=False)


def cut(name, others):
    for other in others:
        for chain, side in (('INPUT', '-s'), ('OUTPUT', '-d')):
            run('ip', 'netns', 'exec', PREFIX + name, 'iptables', '-A', chain, side, ip(other), '-j', 'DROP')


def heal(name):
    run('ip', 'netns', 'exec', PREFIX + name, 'iptables', '-F')


#
# The hub: etcd and Patroni on three nodes
#


def start_etcd(name):
    start(name, name + '-etcd', 'etcd', '--name', name, '--data-dir', '%s/%s/etcd' % (WORK, name),
          '--listen-client-urls', 'http://%s:2379' % ip(name), '--advertise-client-urls', 'http://%s:2379' % ip(name),
          '--listen-peer-urls', 'http://%s:2380' % ip(name), '--initial-advertise-peer-urls', 'http://%s:2380' % ip(name),
          '--initial-cluster', ','.join('%s=http://%s:2380' % (hub, ip(hub)) for hub in HUBS),
          '--heartbeat-interval', '300', '--election-timeout', '3000', '--logger', 'zap')


def settings_of_extension():
    settings = {}
    with open(WORK + '/hilo.conf') as file:
        for line in file:
            if '=' in line:
                key, value = line.split('=', 1)
                settings[key.strip()] = value.strip().strip("'")
    return settings


def configure_patroni(name, synchronous):
    parameters = dict(settings_of_extension())
    parameters.update({
        'shared_preload_libraries': 'hilo', 'unix_socket_directories': '%s/%s' % (WORK, name), 'max_connections': 60,
        'hilo.hub_auto_resume': 'on' if synchronous else 'off', 'fsync': 'off', 'wal_log_hints': 'on', 'log_line_prefix': '%m [%p] ',
        'shared_buffers': '32MB', 'max_wal_senders': 10})
    config = {
        'scope': 'hilo', 'name': name,
        'restapi': {'listen': ip(name) + ':8008', 'connect_address': ip(name) + ':8008'},
        'etcd3': {'hosts': [ip(hub) + ':2379' for hub in HUBS]},
        'bootstrap': {
            'dcs': {
                'ttl': 20, 'loop_wait': 3, 'retry_timeout': 5, 'maximum_lag_on_failover': 100000000,
                'synchronous_mode': synchronous, 'synchronous_mode_strict': synchronous,
                'postgresql': {'use_pg_rewind': True, 'use_slots': True, 'parameters': {'wal_keep_size': '256MB'}}},
            'initdb': [{'encoding': 'UTF8'}, {'locale': 'C'}, {'auth': 'trust'}, {'username': 'postgres'}]},
        'postgresql': {
            'listen': ip(name) + ':5432', 'connect_address': ip(name) + ':5432', 'data_dir': '%s/%s/data' % (WORK, name),
            'bin_dir': args.bindir, 'pgpass': '%s/%s/pgpass' % (WORK, name),
            'authentication': {'superuser': {'username': 'postgres', 'password': 'x'},
                               'replication': {'username': 'postgres', 'password': 'x'}},
            'pg_hba': ['local all all trust', 'host all all %s.0/24 trust' % NETWORK, 'host replication all %s.0/24 trust' % NETWORK],
            'parameters': parameters},
        'watchdog': {'mode': 'off'}}
    with open('%s/%s/patroni.yml' % (WORK, name), 'w') as file:
        yaml.dump(config, file)


def start_patroni(name):
    start(name, name + '-patroni', 'patroni', '%s/%s/patroni.yml' % (WORK, name))


def sql(host, text, port=5432, timeout=10):
    """Run SQL by a connection of its own; a list of rows."""
    connection = psycopg2.connect('dbname=postgres user=postgres connect_timeout=3 host=%s port=%s' % (host, port),
                                  options='-c statement_timeout=%d000' % timeout)
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def hub_sql(name, text, timeout=10):
    return sql('%s/%s' % (WORK, name), text, timeout=timeout)


def patroni_leader():
    """Name of the node that holds the leader's key."""
    for name in HUBS:
        try:
            out = run(*inside('client', 'curl', '-s', '-m', '2', 'http://%s:8008/cluster' % ip(name)), check=False).stdout
            for member in yaml.safe_load(out)['members']:
                if member['role'] in ('leader', 'sync_leader') and member['state'] == 'running':
                    return member['name']
        except Exception:
            pass
    return None


def is_writable(name):
    try:
        return not hub_sql(name, 'SELECT pg_is_in_recovery()', timeout=3)[0][0]
    except Exception:
        return False


def primary():
    leader = patroni_leader()
    return leader if leader and is_writable(leader) else None


def wait_for_primary(limit=120):
    wait_for('a primary', lambda: primary() is not None, limit)
    return primary()


def replicas():
    leader = primary()
    return [name for name in HUBS if name != leader]


def all_stream():
    """Do both others follow the primary, and is there a synchronous one where there should be?"""
    leader = primary()
    rows = hub_sql(leader, 'SELECT sync_state FROM pg_stat_replication')
    return len(rows) >= 2 and (not synchronous or any(row[0] in ('sync', 'quorum') for row in rows))


def start_node(name):
    running = ' '.join(command_of(pid) for pid in pids(name))
    if 'etcd --name' not in running:
        start_etcd(name)
    if 'patroni.yml' not in running:
        start_patroni(name)


def start_hub():
    for name in HUBS:
        shutil.rmtree('%s/%s' % (WORK, name), ignore_errors=True)
        os.makedirs('%s/%s' % (WORK, name))
        configure_patroni(name, synchronous)
        shutil.chown('%s/%s' % (WORK, name), args.user)
    for name in HUBS:
        start_etcd(name)
    time.sleep(3)
    start_patroni('hub1')
    if not wait_for_primary(180):
        sys.exit('the hub has not started')
    start_patroni('hub2')
    start_patroni('hub3')
    if not wait_for('standbys', all_stream, 180):
        sys.exit('the standbys have not started')
    hub_sql(primary(), 'CREATE EXTENSION hilo; CREATE SEQUENCE control')


def stop_hub():
    for name in HUBS:
        signal_all(name, signal.SIGCONT)
        signal_all(name, signal.SIGKILL)
        heal(name)
    time.sleep(1)


#
# Members
#

directory = {}


def start_haproxy():
    with open(WORK + '/haproxy.cfg', 'w') as file:
        file.write('global\n maxconn 200\ndefaults\n mode tcp\n timeout connect 2s\n timeout client 30m\n timeout server 30m\n'
                   ' timeout check 2s\nlisten hub\n bind %s:5000\n option httpchk OPTIONS /primary\n http-check expect status 200\n'
                   ' default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions\n' % ip('client'))
        for name in HUBS:
            file.write(' server %s %s:5432 check port 8008\n' % (name, ip(name)))
    start('client', 'haproxy', 'haproxy', '-db', '-f', WORK + '/haproxy.cfg')


def member_path(name):
    return directory.get(name, '%s/%s' % (WORK, name))


def run_member(name, place):
    """Start the server in a place: in its own namespace, as a member of that name."""
    run(*inside(place, args.bindir + '/pg_ctl', '-D', '%s/%s/data' % (WORK, place), '-l', '%s/%s/server.log' % (WORK, place), '-w',
                '-s', '-t', '120', 'start'), check=False)
    directory[name] = '%s/%s' % (WORK, place)


def start_members():
    start_haproxy()
    for name in MEMBERS:
        path = '%s/%s' % (WORK, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        shutil.chown(path, args.user)
        run(*inside(name, args.bindir + '/initdb', '-D', path + '/data', '-U', 'postgres', '-A', 'trust', '-N', '--locale=C', '-E', 'UTF8'))
        with open(path + '/data/postgresql.conf', 'a') as file:
            with open(WORK + '/hilo.conf') as extension:
                file.write(extension.read())
            file.write("shared_preload_libraries = 'hilo'\nlisten_addresses = '%s'\nunix_socket_directories = '%s'\nfsync = off\n"
                       "cluster_name = '%s'\nhilo.lease_size = 40000\nhilo.max_lease_size = 40000\nhilo.lease_timeout = '3s'\n"
                       "wal_log_hints = on\nshared_buffers = '32MB'\nlog_line_prefix = '%%m [%%p] '\n" % (ip(name), path, name))
        with open(path + '/data/pg_hba.conf', 'a') as file:
            file.write('host all all %s.0/24 trust\nhost replication all %s.0/24 trust\n' % (NETWORK, NETWORK))
        run_member(name, name)
        host, port = (ip('client'), '5000') if name == 'member3' else (','.join(ip(hub) for hub in HUBS), '5432')
        sql(path, "CREATE EXTENSION hilo; CREATE EXTENSION postgres_fdw; CREATE SERVER hub FOREIGN DATA WRAPPER postgres_fdw "
            "OPTIONS (host '%s', port '%s', dbname 'postgres', connect_timeout '2', target_session_attrs 'read-write');"
            "CREATE USER MAPPING FOR CURRENT_USER SERVER hub OPTIONS (user 'postgres');"
            "SELECT hilo_lease_from('orders', 'hub'), hilo_lease_from('probe|', 'hub')" % (host, port))


def make_standby(place, of):
    """A standby of the server in one place, in another one."""
    path = '%s/%s' % (WORK, place)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    shutil.chown(path, args.user)
    run(*inside(place, args.bindir + '/pg_basebackup', '-h', ip(of), '-D', path + '/data', '-R', '-c', 'fast', '-X', 'stream'))
    with open(path + '/data/postgresql.conf', 'a') as file:
        file.write("unix_socket_directories = '%s'\nlisten_addresses = '%s'\n" % (path, ip(place)))
    run(*inside(place, args.bindir + '/pg_ctl', '-D', path + '/data', '-l', path + '/server.log', '-w', '-s', 'start'))


#
# Clients, and what they saw
#

lock = threading.Lock()
seen = {'orders': set(), 'probe': set(), 'control': set()}
totals = {'orders': 0, 'probe': 0, 'control': 0}
event = {'repeats': 0, 'identities': 0, 'control': 0, 'in_hand': 0, 'asked': 0, 'examples': []}
good_times = {}
stopping = threading.Event()


def note(kind, numbers, who):
    with lock:
        for number in numbers:
            if number in seen[kind]:
                key = {'orders': 'repeats', 'probe': 'identities', 'control': 'control'}[kind]
                event[key] += 1
                if kind != 'control' and len(event['examples']) < 5:
                    event['examples'].append('%s %s by %s' % (kind, number, who))
            seen[kind].add(number)
        totals[kind] += len(numbers)
        good_times.setdefault((kind, who), []).append(time.time())


def draw_orders(name):
    connection = None
    while not stopping.is_set():
        try:
            if connection is None:
                connection = psycopg2.connect('dbname=postgres user=postgres host=%s' % member_path(name))
                connection.autocommit = True
                path = member_path(name)
            with connection.cursor() as cursor:
                cursor.execute("SELECT hilo_next_number('orders') FROM generate_series(1, 20)")
                note('orders', [row[0] for row in cursor.fetchall()], name)
            if path != member_path(name):
                connection.close()
                connection = None
        except psycopg2.Error as error:
            if connection is not None and error.pgcode and error.pgcode[:2] not in ('57', '08') or 'could not lease' in str(error):
                note_failure(name)
            try:
                if connection is not None and connection.closed:
                    connection = None
            except Exception:
                connection = None
            if not error.pgcode:
                connection = None
            time.sleep(0.1)
        time.sleep(0.1)


def note_failure(name):
    """A draw has failed: was there a lease in hand?"""
    try:
        left = sql(member_path(name), "SELECT numbers_left FROM hilo.leases WHERE collection = 'orders'")[0][0]
    except Exception:
        return
    with lock:
        event['in_hand' if left >= 1000 else 'asked'] += 1


def draw_probes(name):
    """An identity: each is a lease of one number."""
    connection = None
    while not stopping.is_set():
        try:
            if connection is None:
                path = member_path(name)
                connection = psycopg2.connect('dbname=postgres user=postgres host=%s' % path)
                connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("SELECT next_identity_for('probe')")
                note('probe', [cursor.fetchone()[0]], name)
            if path != member_path(name):
                connection.close()
                connection = None
        except psycopg2.Error as error:
            if connection is None or connection.closed or not error.pgcode:
                connection = None
        time.sleep(0.25)


def draw_control():
    """psql with the connection string of the members: a new connection each time."""
    text = CONNECT % ','.join(ip(hub) for hub in HUBS)
    while not stopping.is_set():
        try:
            out = subprocess.run(inside('client', args.bindir + '/psql', '-XAtq', '-d', text, '-c', "SET statement_timeout = '3s'", '-c',
                                        "SELECT nextval('control') FROM generate_series(1, 50)"), stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, universal_newlines=True, timeout=10)
            if out.returncode == 0:
                note('control', [int(line) for line in out.stdout.split()], 'psql')
        except Exception:
            pass
        time.sleep(0.25)


def gap(kind, who, since, until):
    """The longest time without a number, of those that end after since and begin before until."""
    with lock:
        times = list(good_times.get((kind, who), []))
    longest = 0
    for before, after in zip(times, times[1:] + [time.time()]):
        if after > since and before < until:
            longest = max(longest, after - before)
    return longest


#
# Events: each does it, and leaves the cluster to heal
#

synchronous = True
hands = []


def by_hand(step):
    hands.append(step)
    say('by hand: ' + step)


def resume_by_hand(stopped=None):
    """The steps of the page: stop the old hub, let members report, resume."""
    new = wait_for_primary()
    if stopped is not None and stopped != new and is_writable(stopped):
        by_hand('stop the old hub, ' + stopped)
        signal_all(stopped, signal.SIGKILL, 'postgres')
    new = wait_for_primary()
    by_hand('hilo_lease_report() on the members')
    for name in MEMBERS:
        wait_for('the report of ' + name, lambda: sql(member_path(name), 'SELECT hilo_lease_report()')[0][0] == 2, 30)
    by_hand('hilo_hub_resume() on ' + new)
    wait_for('the resume', lambda: hub_sql(new, 'SELECT hilo_hub_resume()') is not None, 60)


def switch_over():
    old, new = primary(), None
    for candidate in replicas():
        if not synchronous or hub_sql(old, "SELECT sync_state FROM pg_stat_replication WHERE application_name = '%s'" % candidate)[0][0] == 'sync':
            new = candidate
    out = run(*inside('client', 'patronictl', '-c', '%s/%s/patroni.yml' % (WORK, old), 'switchover', 'hilo', '--master', old, '--candidate', new,
                      '--force'), check=False)
    say(out.stdout.strip().splitlines()[-1] if out.stdout.strip() else '')


def kill_postgres():
    signal_all(primary(), signal.SIGKILL, 'postgres')


def kill_patroni():
    old = primary()
    signal_all(old, signal.SIGKILL, 'patroni.yml')
    time.sleep(45)
    if not synchronous:
        resume_by_hand(old)
    start_node(old)


def kill_node():
    old = primary()
    signal_all(old, signal.SIGKILL)
    time.sleep(45)
    if not synchronous:
        resume_by_hand(old)
    start_node(old)


def freeze(name, seconds):
    signal_all(name, signal.SIGSTOP)
    time.sleep(seconds)
    signal_all(name, signal.SIGCONT)


def freeze_primary():
    freeze(primary(), 45)


def freeze_first_standby():
    freeze(replicas()[0], 30)


def freeze_last_standby():
    freeze(replicas()[-1], 30)


def partition():
    old = primary()
    cut(old, replicas())
    time.sleep(45)
    heal(old)


def lose_etcd():
    for name in HUBS:
        signal_all(name, signal.SIGKILL, 'etcd --name')
    time.sleep(40)
    for name in HUBS:
        start_etcd(name)


def hub_away():
    for name in HUBS:
        cut(name, MEMBERS + ('client',))
    time.sleep(60)
    for name in HUBS:
        heal(name)


def degrade():
    """Both standbys away: what is waited for there must not pile up."""
    others = replicas()
    leader = primary()
    for name in others:
        signal_all(name, signal.SIGSTOP, 'postgres')
        signal_all(name, signal.SIGSTOP, 'patroni.yml')
    most = 0
    end = time.time() + 40
    while time.time() < end:
        try:
            most = max(most, hub_sql(leader, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo'")[0][0])
        except Exception:
            pass
        time.sleep(1)
    for name in others:
        signal_all(name, signal.SIGCONT)
    say('sessions of members on the hub: at most %d' % most)
    event['sessions'] = most


def kill_members():
    for name in MEMBERS:
        place = os.path.basename(member_path(name))
        signal_all(place, signal.SIGKILL)
    time.sleep(3)
    for name in MEMBERS:
        run_member(name, os.path.basename(member_path(name)))


def fail_member_over():
    old = os.path.basename(member_path('member1'))
    new = 'standby' if old == 'member1' else 'member1'
    make_standby(new, old)
    time.sleep(5)
    signal_all(old, signal.SIGKILL)
    run(*inside(new, args.bindir + '/pg_ctl', '-D', '%s/%s/data' % (WORK, new), '-w', '-s', 'promote'))
    directory['member1'] = '%s/%s' % (WORK, new)


def leave_old_hub():
    """Without the first step: a member that sees nothing but the old hub, which lives on."""
    old = primary()
    sql(member_path('member3'), "ALTER SERVER hub OPTIONS (SET host '%s', SET port '5432')" % ip(old))
    signal_all(old, signal.SIGKILL, 'patroni.yml')
    time.sleep(30)
    new = wait_for_primary()
    for name in MEMBERS[:2]:
        sql(member_path(name), 'SELECT hilo_lease_report()')
    by_hand('hilo_hub_resume(force => true), while the old hub lives on')
    wait_for('the resume', lambda: hub_sql(new, 'SELECT hilo_hub_resume(force => true)') is not None, 60)
    time.sleep(60)
    signal_all(old, signal.SIGKILL, 'postgres')
    sql(member_path('member3'), "ALTER SERVER hub OPTIONS (SET host '%s', SET port '5000')" % ip('client'))
    start_node(old)


EVENTS = {
    True: [('switch-over', switch_over), ('kill', kill_postgres), ('kill Patroni, postgres lives on', kill_patroni),
           ('kill the node', kill_node), ('freeze the primary 45 s, wake it', freeze_primary),
           ('freeze the first standby 30 s', freeze_first_standby), ('freeze the last standby 30 s', freeze_last_standby),
           ('partition the primary from etcd and standbys', partition), ('etcd lost 40 s', lose_etcd), ('hub away 60 s', hub_away),
           ('both standbys away 40 s', degrade), ('members killed', kill_members), ('a member fails over', fail_member_over)],
    False: [('switch-over', switch_over), ('kill', kill_postgres), ('kill Patroni, postgres lives on', kill_patroni),
            ('kill the node', kill_node), ('freeze the primary 45 s, wake it', freeze_primary),
            ('partition the primary from etcd and standbys', partition), ('etcd lost 40 s', lose_etcd)]}
LAST = ('the old hub not stopped, and a member that sees no other', leave_old_hub)
RESUMED_WITHIN = (kill_patroni, kill_node, leave_old_hub)


def play(title, action, lines):
    wait_for('a healthy cluster', all_stream, 180)
    time.sleep(5)
    with lock:
        event.update({'repeats': 0, 'identities': 0, 'control': 0, 'in_hand': 0, 'asked': 0, 'examples': [], 'sessions': None})
    del hands[:]
    old = primary()
    timeline = hub_sql(old, 'SELECT timeline_id FROM pg_control_checkpoint()')[0][0]
    say('== %s (%s)' % (title, old))
    began = time.time()
    action()
    if not synchronous and action not in RESUMED_WITHIN:
        resume_by_hand(old)
    for name in MEMBERS:
        wait_for('fresh leases of ' + name, lambda: good_times.get(('probe', name), [0])[-1] > time.time() - 2, 90)
    for name in HUBS:
        start_node(name)
    wait_for('a healthy cluster', all_stream, 180)
    time.sleep(5)
    until = time.time()
    with lock:
        result = dict(event)
    fresh = max(gap('probe', name, began, until) for name in MEMBERS[:2])
    proxied = gap('probe', 'member3', began, until)
    psql = gap('control', 'psql', began, until)
    sessions = '' if result['sessions'] is None else ' (at most %d sessions of members on the hub)' % result['sessions']
    line = '| %s, %s%s | %d, %d | %d | %d | %.0f, %.0f | %.0f | %d | %d |' % (
        'synchronous' if synchronous else 'asynchronous', title, sessions, result['repeats'], result['identities'], result['in_hand'],
        result['asked'], fresh, proxied, psql, len(hands), result['control'])
    say(line)
    if result['examples']:
        say('repeats: ' + '; '.join(result['examples']))
    lines.append(line)
    with open(args.result, 'w') as file:
        file.write(HEAD + '\n'.join(lines) + '\n')
    return result


HEAD = ('| event | repeats: numbers, identities | failed draws with a lease in hand | failed draws without one | s until fresh leases: by host list, '
        'by HAProxy | s until psql connects | steps by hand | repeats of the sequence |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n')


def main():
    global synchronous
    lines = []
    bad = 0
    began = time.time()
    wanted = [part for part in args.only.split(',') if part]
    try:
        make_network()
        for synchronous in (True, False):
            if wanted and not synchronous:
                break
            for kind in seen:
                seen[kind].clear()
            stopping.clear()
            stop_hub()
            start_hub()
            start_members()
            say('the cluster is there: ' + ('synchronous, automatic resume' if synchronous else 'asynchronous, resume by hand'))
            threads = [threading.Thread(target=draw_orders, args=(name,)) for name in MEMBERS for _ in range(2)]
            threads += [threading.Thread(target=draw_probes, args=(name,)) for name in MEMBERS]
            threads += [threading.Thread(target=draw_control)]
            for thread in threads:
                thread.daemon = True
                thread.start()
            time.sleep(15)
            for title, action in EVENTS[synchronous] * int(args.rounds):
                if wanted and title not in wanted:
                    continue
                result = play(title, action, lines)
                bad += result['repeats'] + result['identities'] + result['in_hand']
            if not wanted and not synchronous:
                play(*LAST, lines)
            stopping.set()
            for thread in threads:
                thread.join(30)
            for name in MEMBERS + ('standby', 'client'):
                signal_all(name, signal.SIGKILL)
            directory.clear()
        summary = '%d numbers, %d identities, %d of the sequence, in %.0f minutes' % (
            totals['orders'], totals['probe'], totals['control'], (time.time() - began) / 60)
        say(summary)
        with open(args.result, 'a') as file:
            file.write('\n' + summary + '\n')
    finally:
        for name in HUBS:
            signal_all(name, signal.SIGCONT)
        remove_network()
    if bad:
        say('numbers came twice, or draws failed that had a lease')
    sys.exit(1 if bad else 0)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
main()
