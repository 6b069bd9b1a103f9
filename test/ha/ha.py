# ha.py: the events and the count of run.sh, which see.
import argparse
import signal
import subprocess
import sys
import threading
import time

import psycopg2

import cluster
from cluster import (HUBS, MEMBERS, WAYS, Mode, hub_sql, inside, ip, is_standby, is_writable, member_path, place_of, primary,
                     replicas, run, say, signal_all, sql, start_node, stopping, timeline, wait_for, wait_for_primary)

MODES = [Mode('synchronous, automatic resume', True),
         Mode('synchronous, automatic resume, watchdog', True, watchdog=True),
         Mode('asynchronous, resume by hand', False),
         Mode('asynchronous, resume by the callback, watchdog', False, watchdog=True, callback=True)]
mode = MODES[0]

#
# Clients, and what they saw
#

lock = threading.Lock()
seen = {'orders': set(), 'probe': set(), 'control': set()}
totals = {'orders': 0, 'probe': 0, 'control': 0}
good_times = {}                 # of leases and of psql, by kind and member
reached = {}                    # the timeline that psql reaches by the way of a member, and since when
event = {}


def begin_event():
    with lock:
        event.update({'orders': 0, 'probe': 0, 'control': 0, 'in_hand': 0, 'asked': 0, 'examples': [], 'note': '', 'down': {}, 'steps': []})


def note(kind, numbers, member, good=True):
    with lock:
        twice = [number for number in numbers if number in seen[kind]]
        seen[kind].update(numbers)
        event[kind] += len(twice)
        totals[kind] += len(numbers)
        if kind != 'control':
            event['examples'] += ['%s %d by %s' % (kind, number, member) for number in twice[:5]]
        if kind != 'orders' and good:
            good_times.setdefault((kind, member), []).append(time.time())


def draw(member, statement, kind, pause):
    """Draw until the end, by a connection that stays."""
    connection = None
    while not stopping.is_set():
        try:
            if connection is None or path != member_path(member):
                path = member_path(member)
                connection = psycopg2.connect('dbname=postgres user=postgres host=%s' % path)
                connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(statement)
                note(kind, [row[0] for row in cursor.fetchall()], member)
        except psycopg2.Error as error:
            if kind == 'orders' and 'could not lease' in str(error):
                note_failure(member)
            if connection is None or connection.closed or not error.pgcode:
                connection = None
        time.sleep(pause)


def note_failure(member):
    """A draw has failed: was there a lease in hand?"""
    try:
        left = sql(member_path(member), "SELECT numbers_left FROM hilo.leases WHERE collection = 'orders'")[0][0]
    except psycopg2.Error:
        return
    with lock:
        event['in_hand' if left >= 1000 else 'asked'] += 1


def draw_control(member):
    """
    psql, which reaches the hub as a member does: a new connection each time, and so many numbers that each call writes.
    """
    words = ['%s=%s' % option for option in cluster.way_to_hub(member).items()] + ['user=members', 'password=sesame']
    command = inside('client', cluster.BINDIR + '/psql', '-XAtq', '-d', ' '.join(words), '-c', "SET statement_timeout = '3s'", '-c',
                     "SELECT pg_walfile_name(pg_current_wal_lsn())", '-c', "SELECT nextval('control') FROM generate_series(1, 50)")
    while not stopping.is_set():
        try:
            out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=6)
            if out.returncode == 0:
                file, *numbers = out.stdout.split()
                # Without the standby's word it is shown numbers, but cannot rely on them.
                note('control', [int(number) for number in numbers], member, 'canceling wait' not in out.stderr)
                if reached.get(member, (0, 0))[0] != int(file[:8], 16):
                    reached[member] = (int(file[:8], 16), time.time())
        except subprocess.TimeoutExpired:
            pass
        time.sleep(0.3)


def start_clients():
    orders = "SELECT hilo_next_number('orders') FROM generate_series(1, 20)"
    threads = []
    for member in MEMBERS:
        threads += [threading.Thread(target=draw, args=(member, orders, 'orders', 0.1), daemon=True) for _ in range(2)]
        threads += [threading.Thread(target=draw, args=(member, "SELECT next_identity_for('probe')", 'probe', 0.2), daemon=True),
                    threading.Thread(target=draw_control, args=(member,), daemon=True)]
    for thread in threads:
        thread.start()
    return threads


def gap(kind, member, since, until):
    """The longest time without a number, of those that end after since and begin before until."""
    with lock:
        times = list(good_times.get((kind, member), []))
    gaps = [after - before for before, after in zip(times, times[1:] + [time.time()]) if after > since and before < until]
    return max(gaps, default=0)


def draws_now(member):
    return good_times.get(('probe', member), [0])[-1] > time.time() - 1


#
# The administrator
#


class Administrator(threading.Thread):
    """
    Takes the manual steps of the page as soon as they are needed: after each change of the timeline if there is no automatic
    resume, and when a member has seen a later timeline than that of the hub.
    """

    def __init__(self):
        super().__init__(daemon=True)
        self.timeline = timeline(primary())
        self.stopped_at = None      # in a takeover that is under way
        self.takeovers = []         # timeline, when the old hub was stopped, and the new one resumed
        self.looked_at = 0
        self.cut_off = set()
        self.paused = False
        self.trouble = None

    def run(self):
        while not stopping.is_set():
            new = primary()
            if new is not None and not self.paused:
                try:
                    if mode.by_hand and timeline(new) > self.timeline or self.is_closed(new):
                        self.take_over(new, timeline(new))
                except psycopg2.Error as error:
                    trouble = str(error).strip().splitlines()[0]
                    if trouble != self.trouble:
                        say('the administrator tries again: ' + trouble)
                    self.trouble = trouble
            for name in list(self.cut_off):
                if is_standby(name):
                    cluster.heal(name, MEMBERS + ('client',))
                    self.cut_off.remove(name)
            time.sleep(0.1)

    def step(self, text):
        if text not in event['steps']:
            event['steps'].append(text)
            say('by hand: ' + text)

    def is_closed(self, hub):
        """A hub that was left behind, or that collects reports, is opened by hand in all modes."""
        if time.time() < self.looked_at + 1:
            return False
        self.looked_at = time.time()
        try:
            return hub_sql(hub, "SELECT count(*) FROM hilo.hub WHERE hub = '|' AND (seen >= term OR NOT is_open)")[0][0] > 0
        except psycopg2.Error:
            return False

    def take_over(self, new, number):
        for name in HUBS:
            if name != new:
                self.stop(name)
        self.stopped_at = self.stopped_at or time.time()
        missing = hub_sql(new, 'SELECT DISTINCT member FROM hilo.members WHERE NOT reported')
        members = [member for member in MEMBERS if any('/%s/' % member in row[0] for row in missing)]
        if members:
            self.step('hilo.lease_report() on the members')
            threads = [threading.Thread(target=self.report, args=(member,)) for member in members]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        hub_sql(new, 'SELECT hilo.hub_resume()')
        self.step('hilo.hub_resume() on ' + new)
        self.takeovers.append((number, self.stopped_at, time.time()))
        self.stopped_at = None
        self.timeline = number

    def report(self, member):
        try:
            sql(member_path(member), 'SELECT hilo.lease_report()')
        except psycopg2.Error as error:
            say('%s cannot report: %s' % (member, error))

    def stop(self, name):
        """The first step: no node but the new hub is one."""
        end = time.time() + 1
        while time.time() < end:
            if is_standby(name) or name in self.cut_off or not any('postgres' in cluster.command_of(pid) for pid in cluster.pids(name)):
                return
            if is_writable(name):
                self.step('stop the old hub, ' + name)
                signal_all(name, signal.SIGKILL, 'postgres')
                return
            time.sleep(0.1)
        self.step('cut off %s, which does not answer' % name)
        self.cut_off.add(name)
        cluster.cut(name, MEMBERS + ('client',))


administrator = None


#
# Events: each does it, and leaves the cluster to heal
#


def wait_for_failover(before, pause=5):
    """Until there is a later timeline, and for some seconds more."""
    wait_for('a later timeline', lambda: timeline(primary()) > before, 90)
    time.sleep(pause)


def switch_over():
    old = primary()
    candidates = cluster.synchronous_standbys() if mode.synchronous else replicas()
    out = run(*inside('client', 'patronictl', '-c', '%s/%s/patroni.yml' % (cluster.WORK, old), 'switchover', 'hilo', '--master', old,
                      '--candidate', candidates[0], '--force'), check=False)
    if 'Successfully switched over' not in out.stdout:
        say(out.stdout)
    wait_for('another primary', lambda: primary() not in (old, None), 30)


def kill_postgres():
    before = timeline(primary())
    signal_all(primary(), signal.SIGKILL, 'postgres')
    wait_for_failover(before)


def kill_patroni():
    old = primary()
    before = timeline(old)
    signal_all(old, signal.SIGKILL, 'patroni.yml')
    wait_for_failover(before, 15)
    start_node(old)


def kill_node():
    old = primary()
    before = timeline(old)
    signal_all(old, signal.SIGKILL)
    wait_for_failover(before)
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
    others = replicas()
    cluster.cut(old, others)
    time.sleep(45)
    cluster.heal(old, others)


def lose_etcd():
    for name in HUBS:
        signal_all(name, signal.SIGKILL, 'etcd --name')
    time.sleep(40)
    for name in HUBS:
        cluster.start_etcd(name)
    time.sleep(5)


def lose_etcd_without_failsafe():
    before = timeline(primary())
    cluster.change_patroni(failsafe_mode=False)
    time.sleep(6)
    lose_etcd()
    wait_for_failover(before)
    cluster.change_patroni(failsafe_mode=True)


def hub_away():
    for name in HUBS:
        cluster.cut(name, MEMBERS + ('client',))
    time.sleep(60)
    for name in HUBS:
        cluster.heal(name, MEMBERS + ('client',))


def standbys_away():
    """What is waited for there must not pile up."""
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
        except psycopg2.Error:
            pass
        time.sleep(1)
    for name in others:
        signal_all(name, signal.SIGCONT)
    event['note'] = ' (at most %d sessions of members on the hub)' % most


def degrade():
    """Patroni continues without a standby, the primary is lost, and a standby without its last commits is forced to take over."""
    old = primary()
    before = timeline(old)
    others = replicas()
    candidate = cluster.synchronous_standbys()[0]
    cluster.change_patroni(synchronous_mode_strict=False)
    time.sleep(6)
    for name in others:
        signal_all(name, signal.SIGKILL, 'patroni.yml')
        signal_all(name, signal.SIGKILL, 'postgres')
    wait_for('a hub without standbys', lambda: hub_sql(old, 'SHOW synchronous_standby_names')[0][0] == '', 40)
    time.sleep(10)
    signal_all(old, signal.SIGKILL, 'patroni.yml')
    signal_all(old, signal.SIGKILL, 'postgres')
    for name in others:
        start_node(name)
    wait_for('standbys', lambda: all(is_standby(name) for name in others), 60)
    time.sleep(5)
    wait_for('the forced failover', lambda: 'Successfully' in run(
        *inside('client', 'patronictl', '-c', '%s/%s/patroni.yml' % (cluster.WORK, candidate), 'failover', 'hilo', '--candidate', candidate,
                '--force'), check=False).stdout or timeline(primary()) > before, 60)
    wait_for_failover(before)
    start_node(old)
    cluster.change_patroni(synchronous_mode_strict=True)


def kill_members():
    began = time.time()
    places = {name: place_of(name) for name in MEMBERS}
    for name, place in places.items():
        signal_all(place, signal.SIGKILL)
    time.sleep(3)
    for name, place in places.items():
        cluster.run_member(name, place)
        event['down'][name] = time.time() - began


def fail_member_over():
    old = place_of('member1')
    new = 'standby' if old == 'member1' else 'member1'
    cluster.make_standby(new, old)
    time.sleep(5)
    began = time.time()
    signal_all(old, signal.SIGKILL)
    run(*inside(new, cluster.BINDIR + '/pg_ctl', '-D', '%s/%s/data' % (cluster.WORK, new), '-w', '-s', 'promote'))
    cluster.directory['member1'] = '%s/%s' % (cluster.WORK, new)
    event['down']['member1'] = time.time() - began


def leave_old_hub():
    """Without the first step: a member that sees nothing but the old hub, which lives on."""
    old = primary()
    before = timeline(old)
    server = "ALTER SERVER ids_hub OPTIONS (SET host '%s', SET port '%s')"
    sql(member_path('member3'), server % (ip(old), '5432'))
    administrator.paused = True
    signal_all(old, signal.SIGKILL, 'patroni.yml')
    wait_for_failover(before)
    new = primary()
    for name in MEMBERS[:2]:
        sql(member_path(name), 'SELECT hilo.lease_report()')
    hub_sql(new, 'SELECT hilo.hub_forget(member, true) FROM (SELECT DISTINCT member FROM hilo.members) m')
    hub_sql(new, 'SELECT hilo.hub_resume()')
    administrator.step('members forgotten and hilo.hub_resume(), while the old hub lives on')
    administrator.timeline = timeline(new)
    time.sleep(60)
    administrator.stop(old)
    way = cluster.way_to_hub('member3')
    sql(member_path('member3'), server % (way['host'], way['port']))
    administrator.paused = False
    start_node(old)


BOTH = [('switch-over', switch_over), ('postgres killed', kill_postgres), ('Patroni killed', kill_patroni), ('node killed', kill_node),
        ('primary frozen for 45 s', freeze_primary), ('partition of the primary from etcd and standbys', partition),
        ('etcd lost for 40 s without failsafe_mode', lose_etcd_without_failsafe)]
NO_FAILOVER = [('first standby frozen for 30 s', freeze_first_standby), ('last standby frozen for 30 s', freeze_last_standby),
               ('etcd lost for 40 s', lose_etcd), ('hub away for 60 s', hub_away), ('members killed', kill_members),
               ('a member fails over', fail_member_over)]
SYNCHRONOUS = [('both standbys away for 40 s', standbys_away), ('synchronous mode degraded and failover forced', degrade)]
LAST = ('the old hub not stopped and a member that sees no other', leave_old_hub)


def events_of(which):
    """The events of a mode; the last one is to go wrong."""
    if which.watchdog:
        return BOTH
    return BOTH + NO_FAILOVER + (SYNCHRONOUS if which.synchronous else [LAST])


#
# The table
#

COLUMNS = ('event', 'numbers, identities that came twice', 'draws that failed with a lease in hand, without one',
           'seconds without fresh leases by ' + ', '.join(WAYS.values()), 'without `psql`', 'more than `psql`', 'steps by hand',
           'numbers of the sequence that came twice')


def row(*cells):
    return '| ' + ' | '.join(cells) + ' |'


HEAD = row(*COLUMNS) + '\n' + row(*['---'] * len(COLUMNS)) + '\n'


def after_takeover(since):
    """The longest time from when the old hub was stopped, and psql had reached the new one by all ways, to a member's first lease."""
    longest = None
    for number, stopped_at, resumed_at in administrator.takeovers:
        if resumed_at < since:
            continue
        ready = max([stopped_at] + [at for before, at in reached.values() if before == number and at < resumed_at + 10])
        for member in MEMBERS:
            fresh = min((at for at in good_times[('probe', member)] if at > resumed_at), default=time.time())
            longest = max(longest or 0, fresh - ready)
    return longest


def is_over():
    """Has the cluster healed, and do all members get leases?"""
    return (cluster.all_stream(mode) and all(draws_now(member) for member in MEMBERS) and
            (not mode.by_hand or administrator.timeline == timeline(primary())))


def play(title, action, lines):
    wait_for('a healthy cluster', is_over, 180)
    time.sleep(3)
    begin_event()
    say('== %s (%s)' % (title, primary()))
    began = time.time()
    action()
    for name in HUBS:
        start_node(name)
    healed = wait_for('a healthy cluster', is_over, 180)
    time.sleep(3)
    until = time.time()
    with lock:
        result = dict(event)
    leases = [gap('probe', member, began, until) for member in MEMBERS]
    psql = [gap('control', member, began, until) for member in MEMBERS]
    # A resume needs the reports of all members, so the slowest way counts for all.
    base = psql if mode.synchronous else [max(psql)] * len(psql)
    more = max(lease - max(other, result['down'].get(member, 0)) for lease, other, member in zip(leases, base, MEMBERS))
    after = after_takeover(began)
    line = row(title + result['note'], '%d, %d' % (result['orders'], result['probe']), '%d, %d' % (result['in_hand'], result['asked']),
               ', '.join('%.0f' % lease for lease in leases), ', '.join('%.0f' % other for other in psql),
               '%.1f' % max(more, 0) + ('' if after is None else ' (%.1f)' % after), str(len(result['steps'])), str(result['control']))
    say(line)
    if result['examples']:
        say('repeats: ' + '; '.join(result['examples'][:5]))
    lines.append(line)
    with open(options.result, 'w') as file:
        file.write(HEAD + '\n'.join(lines) + '\n')
    if action is leave_old_hub:
        return []
    return [title + ': ' + problem for problem, happened in (
        ('numbers came twice', result['orders'] + result['probe'] > 0), ('draws failed that had a lease', result['in_hand'] > 0),
        ('members needed %.1f s more than psql' % more, more > float(options.limit) and action is not degrade), ('the cluster has not healed', not healed)) if happened]


def play_all(wanted, lines):
    global administrator
    problems = []
    with lock:
        for kind in seen:
            seen[kind].clear()
        good_times.clear()
        reached.clear()
    begin_event()
    stopping.clear()
    cluster.start_hub(mode)
    cluster.start_proxies()
    cluster.start_members()
    administrator = Administrator()
    administrator.start()
    threads = start_clients()
    say('the cluster is there: ' + mode.title)
    lines.append(row('*%s*' % mode.title, *[''] * (len(COLUMNS) - 1)))
    time.sleep(10)
    for title, action in events_of(mode):
        if not wanted or title in wanted:
            problems += play(title, action, lines)
    stopping.set()
    for thread in threads:
        thread.join(30)
    cluster.stop_hub()
    for name in MEMBERS + ('standby', 'client'):
        signal_all(name, signal.SIGKILL)
    return problems


def main():
    global mode
    lines, problems = [], []
    began = time.time()
    wanted = [part for part in options.only.split(',') if part]
    try:
        cluster.make_network()
        for number in options.modes.split(','):
            mode = MODES[int(number) - 1]
            problems += play_all(wanted, lines)
        summary = '%d numbers, %d identities, %d of the sequence, in %.0f minutes' % (
            totals['orders'], totals['probe'], totals['control'], (time.time() - began) / 60)
        say(summary)
        with open(options.result, 'a') as file:
            file.write('\n' + summary + '\n')
    finally:
        cluster.remove_network()
    for problem in problems:
        say('FAILED: ' + problem)
    sys.exit(1 if problems else 0)


parser = argparse.ArgumentParser()
for argument in ('work', 'bindir', 'user', 'page', 'only', 'modes', 'limit', 'result'):
    parser.add_argument('--' + argument)
options = parser.parse_args()
cluster.begin(options.work, options.bindir, options.user, options.page)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
main()
