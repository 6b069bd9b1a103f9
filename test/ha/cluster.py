# cluster.py: what run.sh has set up, which see: network, hub, proxies and members, by the files that the page prints.
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

import psycopg2
import yaml

HUBS = ('hub1', 'hub2', 'hub3')
MEMBERS = ('member1', 'member2', 'member3')
# How each member reaches the hub.
WAYS = {'member1': 'list of hosts', 'member2': 'HAProxy', 'member3': 'PgBouncer'}
ADDRESS = {'hub1': 11, 'hub2': 12, 'hub3': 13, 'client': 20, 'member1': 21, 'member2': 22, 'member3': 23, 'standby': 31}
PREFIX = 'hilo%d-' % os.getpid()
NETWORK = '10.77.%d' % (os.getpid() % 250)

WORK = BINDIR = USER = None
page = ''
stopping = threading.Event()


def begin(work, bindir, user, page_file):
    global WORK, BINDIR, USER, page
    WORK, BINDIR, USER = work, bindir, user
    with open(page_file) as file:
        page = file.read()


def ip(name):
    return '%s.%d' % (NETWORK, ADDRESS[name])


def say(text):
    print('%s %s' % (time.strftime('%H:%M:%S'), text), flush=True)


def run(*command, check=True, **kwargs):
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          **kwargs)


def inside(name, *command):
    """A command in the namespace of a node, as the user who owns the servers."""
    return ('ip', 'netns', 'exec', PREFIX + name, 'setpriv', '--reuid=' + USER, '--regid=' + USER, '--init-groups',
            'env', 'HOME=' + WORK, 'PGUSER=postgres', 'PGHOST=%s/%s' % (WORK, name)) + command


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


def sql(host, text, database='postgres'):
    """Run SQL by a connection of its own; a list of rows."""
    connection = psycopg2.connect('dbname=%s user=postgres connect_timeout=3 host=%s' % (database, host),
                                  options='-c statement_timeout=10000')
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def hub_sql(name, text, database='ids'):
    return sql('%s/%s' % (WORK, name), text, database)


#
# What the page prints
#


def block(begins):
    """The one block of the page that begins so, with the addresses of this network."""
    found = [text for text in re.findall(r'^```\w+\n(.*?)^```', page, re.M | re.S) if text.startswith(begins)]
    if len(found) != 1:
        sys.exit('the page has %d blocks that begin with "%s"' % (len(found), begins))
    text = re.sub(r'\b192\.0\.2\.([123])\b', lambda match: ip('hub' + match.group(1)), found[0])
    return text.replace('hub1,hub2,hub3', ','.join(ip(hub) for hub in HUBS))


def write(path, text, mode=0o644):
    with open(path, 'w') as file:
        file.write(text)
    os.chmod(path, mode)
    shutil.chown(path, USER)


def make_folder(name):
    path = '%s/%s' % (WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    shutil.chown(path, USER)
    return path


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


def change_rules(action, name, others):
    for other in others:
        for chain, side in (('INPUT', '-s'), ('OUTPUT', '-d')):
            run('ip', 'netns', 'exec', PREFIX + name, 'iptables', action, chain, side, ip(other), '-j', 'DROP', check=False)


def cut(name, others):
    """Let packets between a node and others be lost."""
    change_rules('-A', name, others)


def heal(name, others):
    change_rules('-D', name, others)


#
# The hub: etcd and Patroni on three nodes
#


class Mode:
    """How the hub is run."""

    def __init__(self, title, synchronous, watchdog=False, callback=False):
        self.title = title
        self.synchronous = synchronous
        self.watchdog = watchdog
        self.callback = callback
        self.by_hand = not synchronous and not callback


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


def configure_patroni(name, mode):
    path = '%s/%s' % (WORK, name)
    dcs = yaml.safe_load(block('ttl: 20'))
    if not mode.synchronous:
        dcs.update({'synchronous_mode': False, 'synchronous_mode_strict': False})
        dcs['postgresql']['parameters']['hilo.hub_auto_resume'] = 'off'
    dcs['postgresql']['parameters']['wal_keep_size'] = '256MB'
    watchdog = {'mode': 'off'}
    if mode.watchdog:
        watchdog = yaml.safe_load(block('watchdog:'))['watchdog']
        watchdog.update({'driver': 'testing', 'device': path + '/watchdog'})
    write(path + '/role_change', block('#!/bin/sh').replace('/var/log/postgresql', path), 0o755)
    parameters = dict(settings_of_extension())
    parameters.update({
        'unix_socket_directories': path, 'max_connections': 60, 'fsync': 'off', 'wal_log_hints': 'on',
        'log_line_prefix': '%m [%p] ', 'shared_buffers': '32MB', 'max_wal_senders': 10})
    config = {
        'scope': 'hilo', 'name': name,
        'restapi': {'listen': ip(name) + ':8008', 'connect_address': ip(name) + ':8008'},
        'etcd3': {'hosts': [ip(hub) + ':2379' for hub in HUBS]},
        'bootstrap': {
            'dcs': dcs,
            'initdb': [{'encoding': 'UTF8'}, {'locale': 'C'}, {'auth': 'trust'}, {'username': 'postgres'}]},
        'postgresql': {
            'listen': ip(name) + ':5432', 'connect_address': ip(name) + ':5432', 'data_dir': path + '/data',
            'bin_dir': BINDIR, 'pgpass': path + '/pgpass',
            'authentication': {'superuser': {'username': 'postgres', 'password': 'x'},
                               'replication': {'username': 'postgres', 'password': 'x'}},
            'callbacks': {'on_role_change': path + '/role_change'} if mode.callback else {},
            'pg_hba': ['local all all trust', 'host ids members %s.0/24 scram-sha-256' % NETWORK,
                       'host all postgres %s.0/24 trust' % NETWORK, 'host replication all %s.0/24 trust' % NETWORK],
            'parameters': parameters},
        'watchdog': watchdog}
    write(path + '/patroni.yml', yaml.dump(config))


def start_patroni(name):
    start(name, name + '-patroni', 'patroni', '%s/%s/patroni.yml' % (WORK, name))


def change_patroni(**changes):
    """Change the settings that all nodes share."""
    pairs = [word for key, value in changes.items() for word in ('-s', '%s=%s' % (key, str(value).lower()))]
    run(*inside('client', 'patronictl', '-c', '%s/%s/patroni.yml' % (WORK, primary()), 'edit-config', 'hilo', '--force', '--quiet', *pairs))


class Monitor(threading.Thread):
    """Asks a node every now and then what it is."""

    def __init__(self, name):
        super().__init__(daemon=True)
        self.name_of_node = name
        self.over = False
        self.answer = (0, False, 0)         # when, is it writable, timeline

    def run(self):
        connection = None
        while not self.over:
            try:
                if connection is None:
                    connection = psycopg2.connect('dbname=postgres user=postgres connect_timeout=2 host=%s/%s' % (WORK, self.name_of_node))
                    connection.autocommit = True
                with connection.cursor() as cursor:
                    cursor.execute("SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_walfile_name(pg_current_wal_lsn()) END")
                    file = cursor.fetchone()[0]
                self.answer = (time.time(), file is not None, int(file[:8], 16) if file else 0)
            except psycopg2.Error:
                if connection is not None:
                    connection.close()
                connection = None
            time.sleep(0.2)


monitors = {}


def answers(name):
    return monitors[name].answer[0] > time.time() - 1.5


def is_standby(name):
    return answers(name) and not monitors[name].answer[1]


def is_writable(name):
    return answers(name) and monitors[name].answer[1]


def timeline(name):
    return monitors[name].answer[2]


def primary():
    """The node on the latest timeline that is no standby."""
    writable = [name for name in HUBS if is_writable(name)]
    return max(writable, key=timeline) if writable else None


def wait_for_primary(limit=120):
    wait_for('a primary', lambda: primary() is not None, limit)
    return primary()


def replicas():
    leader = wait_for_primary()
    return [name for name in HUBS if name != leader]


def synchronous_standbys():
    """Those that Patroni has named: before that, in strict mode, it requires any one."""
    rows = hub_sql(primary(), "SELECT application_name FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"
                   " AND current_setting('synchronous_standby_names') <> '*'", 'postgres')
    return [row[0] for row in rows]


def all_stream(mode):
    """Do both others follow the primary, and is there a synchronous one where there should be?"""
    rows = hub_sql(primary(), "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", 'postgres')
    return rows[0][0] >= 2 and all(is_standby(name) for name in replicas()) and (not mode.synchronous or synchronous_standbys())


def start_node(name):
    running = ' '.join(command_of(pid) for pid in pids(name))
    if 'etcd --name' not in running:
        start_etcd(name)
    if 'patroni.yml' not in running:
        start_patroni(name)


class Watchdog(threading.Thread):
    """
    Resets a node whose Patroni is silent.  It speaks with the driver of Patroni's own tests: a real one would reset the
    machine of all nodes.
    """

    def __init__(self, name):
        super().__init__(daemon=True)
        self.name_of_node = name
        self.over = False
        path = '%s/%s/watchdog' % (WORK, name)
        os.mkfifo(path)
        shutil.chown(path, USER)
        self.pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def run(self):
        timeout = heard_at = None
        while not self.over:
            if select.select([self.pipe], [], [], 0.2)[0]:
                text = os.read(self.pipe, 65536).decode()
                times = re.findall(r'Ctimeout=(\d+)\n', text)
                if times:
                    timeout = int(times[-1])
                heard_at = None if text.endswith('V') else time.time()
            if heard_at is not None and timeout is not None and time.time() > heard_at + timeout:
                if pids(self.name_of_node):
                    say('the watchdog resets ' + self.name_of_node)
                    signal_all(self.name_of_node, signal.SIGKILL)
                heard_at = None
        os.close(self.pipe)


watchdogs = []


def start_hub(mode):
    for name in HUBS:
        make_folder(name)
        configure_patroni(name, mode)
        if mode.watchdog:
            watchdogs.append(Watchdog(name))
            watchdogs[-1].start()
        monitors[name] = Monitor(name)
        monitors[name].start()
    for name in HUBS:
        start_etcd(name)
    time.sleep(3)
    start_patroni('hub1')
    if not wait_for_primary(180):
        sys.exit('the hub has not started')
    start_patroni('hub2')
    start_patroni('hub3')
    if not wait_for('standbys', lambda: all_stream(mode), 180):
        sys.exit('the standbys have not started')
    hub_sql(primary(), 'CREATE DATABASE ids', 'postgres')
    hub_sql(primary(), 'CREATE EXTENSION hilo; CREATE SEQUENCE control;' + block('CREATE ROLE') +
            'GRANT EXECUTE ON FUNCTION hilo.lease, hilo.report TO members; GRANT USAGE ON SEQUENCE control TO members')


def stop_hub():
    for thread in list(monitors.values()) + watchdogs:
        thread.over = True
    del watchdogs[:]
    for name in HUBS:
        signal_all(name, signal.SIGKILL)
        run('ip', 'netns', 'exec', PREFIX + name, 'iptables', '-F')
    time.sleep(1)


#
# Proxies
#


def start_proxies():
    write(WORK + '/haproxy.cfg', 'global\n    maxconn 500\n\n' + block('listen ids'))
    write(WORK + '/userlist.txt', '"members" "sesame"\n', 0o600)
    write(WORK + '/pgbouncer.ini', block('[databases]').replace('/etc/pgbouncer', WORK) + 'unix_socket_dir =\n')
    start('client', 'haproxy', 'haproxy', '-db', '-f', WORK + '/haproxy.cfg')
    start('client', 'pgbouncer', 'pgbouncer', WORK + '/pgbouncer.ini')


def way_to_hub(member):
    """How a member reaches the hub, as options of libpq."""
    if WAYS[member] == 'HAProxy':
        return {'host': ip('client'), 'port': '5000', 'dbname': 'ids', 'connect_timeout': '2'}
    if WAYS[member] == 'PgBouncer':
        return {'host': ip('client'), 'port': '6432', 'dbname': 'ids', 'connect_timeout': '2'}
    return dict(re.findall(r"(\w+) '([^']*)'", block('CREATE SERVER')))


#
# Members
#

directory = {}


def member_path(name):
    return directory.get(name, '%s/%s' % (WORK, name))


def place_of(member):
    return os.path.basename(member_path(member))


def run_member(name, place):
    """Start the server in a place: in its own namespace, as a member of that name."""
    run(*inside(place, BINDIR + '/pg_ctl', '-D', '%s/%s/data' % (WORK, place), '-l', '%s/%s/server.log' % (WORK, place), '-w',
                '-s', '-t', '120', 'start'), check=False)
    directory[name] = '%s/%s' % (WORK, place)


def start_members():
    directory.clear()
    for name in MEMBERS:
        path = make_folder(name)
        run(*inside(name, BINDIR + '/initdb', '-D', path + '/data', '-U', 'postgres', '-A', 'trust', '-N', '--locale=C', '-E', 'UTF8'))
        with open(path + '/data/postgresql.conf', 'a') as file:
            with open(WORK + '/hilo.conf') as extension:
                file.write(extension.read())
            file.write(block('# postgresql.conf of a member') +
                       "shared_preload_libraries = 'hilo'\nlisten_addresses = '%s'\nunix_socket_directories = '%s'\nfsync = off\n"
                       "cluster_name = '%s'\nhilo.lease_size = 40000\ntest.max_lease_size = 40000\n"
                       "wal_log_hints = on\nshared_buffers = '32MB'\nlog_line_prefix = '%%m [%%p] '\n" % (ip(name), path, name))
        with open(path + '/data/pg_hba.conf', 'a') as file:
            file.write('host all all %s.0/24 trust\nhost replication all %s.0/24 trust\n' % (NETWORK, NETWORK))
        run_member(name, name)
        options = ', '.join("%s '%s'" % option for option in way_to_hub(name).items())
        sql(path, "CREATE EXTENSION hilo; CREATE EXTENSION postgres_fdw;"
            "CREATE SERVER ids_hub FOREIGN DATA WRAPPER postgres_fdw OPTIONS (%s);"
            "CREATE USER MAPPING FOR CURRENT_USER SERVER ids_hub OPTIONS (user 'members', password 'sesame');"
            "SELECT hilo.lease_from('orders', 'ids_hub'), hilo.lease_from('probe|', 'ids_hub')" % options)


def make_standby(place, of):
    """A standby of the server in one place, in another one."""
    path = make_folder(place)
    run(*inside(place, BINDIR + '/pg_basebackup', '-h', ip(of), '-D', path + '/data', '-R', '-c', 'fast', '-X', 'stream'))
    with open(path + '/data/postgresql.conf', 'a') as file:
        file.write("unix_socket_directories = '%s'\nlisten_addresses = '%s'\n" % (path, ip(place)))
    run(*inside(place, BINDIR + '/pg_ctl', '-D', path + '/data', '-l', path + '/server.log', '-w', '-s', 'start'))
