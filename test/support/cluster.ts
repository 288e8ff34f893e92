/**
 * A Postgres cluster as people run one: three nodes under Patroni, etcd, and HAProxy with docs/haproxy.cfg before them, on
 * loopback. A node is a PID namespace, so that killing or freezing it takes everything of it at once, as with a machine.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { chown, mkdir, rm, writeFile } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import connect from 'postgres'
import { PROGRAMS } from './cluster-folder.ts'
import { endWithUs } from './end-with-us.ts'
import { freePort } from './free-port.ts'

const HAPROXY_FILE = new URL('../../docs/haproxy.cfg', import.meta.url)

/** As low as Patroni lets it be: a node that is gone keeps its lead for as long as `ttl`. */
const DCS = { ttl: 20, loop_wait: 2, retry_timeout: 5, maximum_lag_on_failover: 1_000_000_000 }

const PARAMETERS = {
  max_connections: 200,
  shared_buffers: '128MB',
  // The machine stays; only processes go.
  fsync: 'off',
  wal_keep_size: '512MB',
  max_wal_size: '1GB',
}

/** Until a node is there again, on a busy machine. */
const WHOLE_MS = 120_000

export type ClusterNode = {
  readonly name: string
  readonly port: number
  readonly restPort: number
}

export type Member = {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly timeline?: number
}

export type Cluster = {
  /** Through HAProxy, at the primary. */
  readonly url: string
  /** Through HAProxy, at the standbys. */
  readonly replicaUrl: string
  readonly nodes: readonly ClusterNode[]
  /** As Patroni sees them, from whichever node answers. */
  readonly members: () => Promise<Member[]>
  readonly primary: () => Promise<ClusterNode>
  /** With a synchronous standby it is that one first. */
  readonly standbys: () => Promise<ClusterNode[]>
  /** Whether commits wait for a standby. */
  readonly setSynchronous: (is: boolean) => Promise<void>
  /** Every node runs and follows the same primary. */
  readonly untilWhole: () => Promise<void>
  readonly untilPrimaryIsNot: (node: ClusterNode) => Promise<void>
  readonly switchover: () => Promise<void>
  readonly restart: (node: ClusterNode) => Promise<void>
  readonly kill: (node: ClusterNode) => Promise<void>
  readonly start: (node: ClusterNode) => Promise<void>
  readonly freeze: (node: ClusterNode) => void
  readonly thaw: (node: ClusterNode) => void
  /** What the node commits from now on reaches no standby, or not that one: its senders stand still, and end with it. */
  readonly holdReplication: (primary: ClusterNode, to?: ClusterNode) => Promise<void>
  readonly stop: () => Promise<void>
}

export async function startCluster(folder: string): Promise<Cluster> {
  const home = mkdtempSync(join(folder, 'tmp', 'svc-cluster-'))
  /** As the programs see it. */
  const inside = home.slice(folder === '/' ? 0 : folder.length)
  const postgres = idOfPostgres(folder)
  const password = randomBytes(16).toString('hex')
  const logs = (name: string) => join(home, `${name}.log`)
  await chown(home, postgres.uid, postgres.gid)
  const running = new Map<string, Running>()
  const run = (name: string, command: readonly string[]) =>
    running.set(name, startApart(folder, command, logs(name)))

  const [etcdPort, peerPort, primaryPort, replicaPort, ...ports] = await Promise.all(
    Array.from({ length: 10 }, freePort),
  )
  const nodes: ClusterNode[] = [1, 2, 3].map((n) => ({
    name: `db${n}`,
    port: ports[2 * n - 2]!,
    restPort: ports[2 * n - 1]!,
  }))

  /** As it was asked for: what a node says of it may be older. */
  let isSynchronous = true

  async function start({ name, port, restPort }: ClusterNode): Promise<void> {
    const at = `127.0.0.1:${port}`
    const known = { username: 'postgres', password }
    const configuration = {
      scope: 'svc',
      name,
      restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
      etcd3: { host: `127.0.0.1:${etcdPort}` },
      bootstrap: {
        dcs: {
          ...DCS,
          synchronous_mode: isSynchronous,
          postgresql: { use_pg_rewind: true, parameters: PARAMETERS },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'no-sync'],
        pg_hba: [
          'host all all 127.0.0.1/32 scram-sha-256',
          'host replication all 127.0.0.1/32 scram-sha-256',
        ],
      },
      postgresql: {
        listen: at,
        connect_address: at,
        data_dir: `${inside}/${name}`,
        bin_dir: PROGRAMS.postgres.replace(/\/postgres$/, ''),
        pgpass: `${inside}/${name}.pgpass`,
        authentication: { superuser: known, replication: known, rewind: known },
        parameters: { unix_socket_directories: inside },
      },
    }
    // JSON is YAML.
    await writeFile(join(home, `${name}.yml`), JSON.stringify(configuration), { mode: 0o644 })
    run(name, asPostgres(PROGRAMS.patroni, `${inside}/${name}.yml`))
  }

  async function members(): Promise<Member[]> {
    for (const { restPort } of nodes) {
      const answer = await askNode(restPort, '/cluster').catch(() => undefined)
      if (answer) return (answer as { members: Member[] }).members
    }
    return []
  }
  const named = (name: string): ClusterNode => nodes.find((node) => node.name === name)!
  async function primary(): Promise<ClusterNode> {
    for (const deadline = after(WHOLE_MS); ; deadline.check('There is no primary')) {
      const leader = (await members()).find(({ role, state }) => role === 'leader' && state === 'running')
      // A member that is frozen is a leader for the others until its time is over.
      if (leader && (await isPrimary(named(leader.name)))) return named(leader.name)
      await sleep(200)
    }
  }
  async function untilWhole(): Promise<void> {
    let seen = ''
    for (const deadline = after(WHOLE_MS); ; deadline.check(`The cluster is not whole: ${seen}`)) {
      const all = await members()
      seen = JSON.stringify(all)
      const timelines = new Set(all.map(({ timeline }) => timeline))
      const isWhole =
        all.length === nodes.length &&
        all.every(({ role, state }) => state === (role === 'leader' ? 'running' : 'streaming')) &&
        timelines.size === 1 &&
        all.some(({ role }) => role === 'sync_standby') === isSynchronous
      if (isWhole && (await isPrimary(await primary()))) return
      await sleep(200)
    }
  }
  async function stop(): Promise<void> {
    await Promise.all([...running.values()].map(({ end }) => end()))
    await rm(home, { recursive: true, force: true })
  }

  try {
    await mkdir(join(home, 'etcd'), { mode: 0o700 })
    await chown(join(home, 'etcd'), postgres.uid, postgres.gid)
    const [client, peer] = [`http://127.0.0.1:${etcdPort}`, `http://127.0.0.1:${peerPort}`]
    run('etcd', [
      ...asPostgres(PROGRAMS.etcd, '--name=one', `--data-dir=${inside}/etcd`, '--unsafe-no-fsync'),
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=one=${peer}`,
    ])
    await writeFile(join(home, 'as-documented.cfg'), readFileSync(HAPROXY_FILE))
    checkHaproxy(folder, `${inside}/as-documented.cfg`)
    const written = substituted(readFileSync(HAPROXY_FILE, 'utf8'), nodes, primaryPort!, replicaPort!)
    await writeFile(join(home, 'haproxy.cfg'), written)
    await start(nodes[0]!)
    await primary()
    await Promise.all(nodes.slice(1).map(start))
    run('haproxy', [PROGRAMS.haproxy, '-db', '-f', `${inside}/haproxy.cfg`])
    await untilWhole()
  } catch (error) {
    const said = [...running.keys()].map(
      (name) => `${name}: ${readFileSync(logs(name), 'utf8').slice(-2_000)}`,
    )
    await stop()
    throw new Error(`The cluster did not start: ${String(error)}\n${said.join('\n')}`, { cause: error })
  }

  const address = (port: number) => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  const pidsOf = ({ name }: ClusterNode) => descendants(running.get(name)!.child.pid!)
  const signal = (node: ClusterNode, name: NodeJS.Signals) => {
    for (const pid of pidsOf(node)) process.kill(pid, name)
  }
  return {
    url: address(primaryPort!),
    replicaUrl: address(replicaPort!),
    nodes,
    members,
    primary,
    async standbys() {
      const all = (await members()).filter(({ role }) => role !== 'leader')
      const first = all.toSorted(
        (a, b) => Number(b.role === 'sync_standby') - Number(a.role === 'sync_standby'),
      )
      return first.map(({ name }) => named(name))
    },
    async setSynchronous(is) {
      await tellNode((await primary()).restPort, 'PATCH', '/config', { synchronous_mode: is })
      isSynchronous = is
      await untilWhole()
    },
    untilWhole,
    async untilPrimaryIsNot(node) {
      for (const deadline = after(WHOLE_MS); ; deadline.check(`${node.name} stays the primary`)) {
        const others = nodes.filter(({ name }) => name !== node.name)
        if ((await Promise.all(others.map(isPrimary))).includes(true)) return
        await sleep(100)
      }
    },
    async switchover() {
      const from = await primary()
      await tellNode(from.restPort, 'POST', '/switchover', { leader: from.name })
    },
    restart: ({ restPort }) => tellNode(restPort, 'POST', '/restart', {}),
    kill: async ({ name }) => running.get(name)!.end(),
    start,
    freeze: (node) => signal(node, 'SIGSTOP'),
    thaw: (node) => signal(node, 'SIGCONT'),
    async holdReplication(from, to) {
      const sql = connect(address(from.port), { max: 1 })
      const senders = await sql<{ pid: number; name: string }[]>`
        select pid, application_name as name from pg_stat_replication`
      await sql.end()
      const wanted = senders.filter(({ name }) => to === undefined || name === to.name)
      const pids = pidsOf(from).filter((pid) => wanted.some((sender) => sender.pid === pidInside(pid)))
      if (pids.length === 0) throw new Error(`${from.name} sends to nobody`)
      for (const pid of pids) process.kill(pid, 'SIGSTOP')
    },
    stop,
  }
}

type Running = { readonly child: ChildProcess; readonly end: () => Promise<void> }

/** The first process ends with `unshare`, and takes all others of the namespace with it. */
const APART = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc']

/**
 * Patroni's threads and Postgres want shared memory, which the folder has none of. The shell stays: whoever becomes another user
 * no longer ends with its parent.
 */
const WITH_MEMORY = 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm && "$@"; exit'

/** In a PID namespace, which goes as a whole. */
function startApart(folder: string, command: readonly string[], log: string): Running {
  const child = spawn(
    'unshare',
    [...APART, '--root', folder, '--', '/bin/sh', '-c', WITH_MEMORY, 'sh', ...command],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const letGo = endWithUs(child.pid!)
  const lines = createWriteStream(log, { flags: 'a' })
  child.stdout.pipe(lines, { end: false })
  child.stderr.pipe(lines, { end: false })
  const exited = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', () => {
      letGo()
      resolve()
    })
  })
  return {
    child,
    async end() {
      const all = descendants(child.pid!)
      child.kill('SIGKILL')
      await exited
      // Their ports and files are free once they are gone.
      for (const pid of all) while (existsSync(`/proc/${pid}`)) await sleep(10)
    },
  }
}

/** Children first come before their own. */
function descendants(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const parent = Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    } catch {
      // It has ended.
    }
  }
  const found: number[] = []
  for (const queue = [pid]; queue.length > 0;) {
    const next = children.get(queue.shift()!) ?? []
    found.push(...next)
    queue.push(...next)
  }
  return found
}

/** As it is called in its own namespace. */
const pidInside = (pid: number): number =>
  Number(/^NSpid:.*\s(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])

const asPostgres = (...command: string[]): string[] => [
  '/usr/bin/setpriv',
  '--reuid=postgres',
  '--regid=postgres',
  '--clear-groups',
  ...command,
]

function idOfPostgres(folder: string): { uid: number; gid: number } {
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync(join(folder, 'etc/passwd'), 'utf8'))
  return { uid: Number(line![1]), gid: Number(line![2]) }
}

/** The file of the docs with the addresses of these nodes; whatever else is in it stays. */
function substituted(
  file: string,
  nodes: readonly ClusterNode[],
  primaryPort: number,
  replicaPort: number,
): string {
  let count = 0
  const put = (text: string) => {
    count++
    return text
  }
  const written = file
    .replaceAll(/^ {2}server (db\d) \S+ check port \d+$/gm, (_, name: string) => {
      const { port, restPort } = nodes.find((node) => node.name === name)!
      return put(`  server ${name} 127.0.0.1:${port} check port ${restPort}`)
    })
    .replace('  bind 127.0.0.1:5000\n', () => put(`  bind 127.0.0.1:${primaryPort}\n`))
    .replace('  bind 127.0.0.1:5001\n', () => put(`  bind 127.0.0.1:${replicaPort}\n`))
  if (count !== 2 * nodes.length + 2) throw new Error(`docs/haproxy.cfg has ${count} addresses`)
  return written
}

/** As it is written, which the one with other addresses would not show. */
function checkHaproxy(folder: string, path: string): void {
  const { status, stderr } = spawnSync('chroot', [folder, PROGRAMS.haproxy, '-c', '-f', path], {
    encoding: 'utf8',
  })
  if (status !== 0 || /warning/i.test(stderr)) throw new Error(`HAProxy refuses docs/haproxy.cfg: ${stderr}`)
}

const isPrimary = ({ restPort }: ClusterNode): Promise<boolean> =>
  speak(restPort, 'GET', '/primary').then(
    ({ status }) => status === 200,
    () => false,
  )

const askNode = async (port: number, path: string): Promise<unknown> =>
  JSON.parse((await speak(port, 'GET', path)).text)

async function tellNode(port: number, method: string, path: string, body: object): Promise<void> {
  const { status, text: said } = await speak(port, method, path, { body, ms: WHOLE_MS })
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${said}`)
}

/** A connection for each: Patroni closes those that `fetch` would keep. */
async function speak(
  port: number,
  method: string,
  path: string,
  { body, ms = 1_000 }: { body?: object; ms?: number } = {},
): Promise<{ status: number; text: string }> {
  const words = body && JSON.stringify(body)
  const asked = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    signal: AbortSignal.timeout(ms),
    ...(words && {
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(words) },
    }),
  })
  asked.end(words)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  return { status: response.statusCode!, text: await text(response) }
}

/** `check` throws once the time is over. */
function after(ms: number) {
  const until = performance.now() + ms
  return {
    check(words: string) {
      if (performance.now() < until) return
      throw new Error(`${words} after ${ms / 1000} s`)
    },
  }
}
