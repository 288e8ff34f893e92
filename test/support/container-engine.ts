/**
 * Podman from Debian's packages, with images, containers and networks in a folder of its own, and base images made by mmdebstrap:
 * nothing is pulled from a registry. INSTALL=yes installs what is missing, on this machine.
 */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const PACKAGES = {
  podman: 'podman',
  mmdebstrap: 'mmdebstrap',
  crun: 'crun',
  'podman-compose': 'podman-compose',
  iptables: 'iptables',
  '/usr/lib/podman/netavark': 'netavark',
  '/usr/lib/podman/aardvark-dns': 'aardvark-dns',
} as const

/** In words for who asked for it; undefined: nothing. */
export function whatIsMissing(env = process.env): string | undefined {
  if (process.getuid?.() !== 0) return 'building and running an image of its own needs root'
  const missing = missingPackages()
  if (missing.length === 0) return undefined
  if (env['INSTALL'] !== 'yes')
    return `there is no ${missing.join(', no ')}; INSTALL=yes installs them (Debian 12 or newer, a minute)`
  const quiet = ['-q', '-o', 'Acquire::Retries=3']
  const options = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' }, stdio: 'inherit' as const }
  spawnSync('apt-get', [...quiet, 'update'], options)
  spawnSync('apt-get', [...quiet, 'install', '-y', '--no-install-recommends', ...missing], options)
  const left = missingPackages()
  return left.length === 0 ? undefined : `apt-get could not install ${left.join(', ')}`
}

const missingPackages = (): string[] =>
  Object.entries(PACKAGES)
    .filter(([program]) =>
      program.startsWith('/') ? !existsSync(program) : spawnSync(program, ['--version']).error !== undefined,
    )
    .map(([, name]) => name)

export type Ended = { readonly code: number; readonly output: string }
export type Engine = {
  /** Throws what it printed if it fails. */
  readonly podman: (...args: readonly string[]) => Promise<string>
  readonly tryPodman: (...args: readonly string[]) => Promise<Ended>
  readonly compose: (folder: string, ...args: readonly string[]) => Promise<string>
  readonly remove: () => Promise<void>
}

const run = promisify(execFile)

export async function startEngine(scratch: string): Promise<Engine> {
  const view = await enterOwnMounts()
  const wrapper = join(scratch, 'podman')
  writeFileSync(wrapper, `#!/bin/sh\nexec nsenter --mount=/proc/${view.pid}/ns/mnt podman "$@"\n`)
  chmodSync(wrapper, 0o755)
  const storage = join(scratch, 'storage.conf')
  writeFileSync(
    storage,
    `[storage]\ndriver = "overlay"\ngraphroot = "${scratch}/images"\nrunroot = "${scratch}/run"\n`,
  )
  const containers = join(scratch, 'containers.conf')
  mkdirSync(join(scratch, 'networks'), { recursive: true })
  writeFileSync(
    containers,
    `[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[network]
network_backend = "netavark"
network_config_dir = "${scratch}/networks"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
`,
  )
  const env = {
    ...process.env,
    CONTAINERS_CONF: containers,
    CONTAINERS_STORAGE_CONF: storage,
    // As good as any here, and it asks nothing of the kernel.
    BUILDAH_ISOLATION: 'chroot',
  }
  const tryRun = async (program: string, args: readonly string[], cwd: string): Promise<Ended> => {
    const options = { cwd, env, maxBuffer: 64 * 1024 * 1024 }
    try {
      const { stdout, stderr } = await run(program, args, options)
      return { code: 0, output: stdout + stderr }
    } catch (error) {
      const { code = 1, stdout, stderr } = error as { code?: number; stdout: string; stderr: string }
      return { code, output: stdout + stderr }
    }
  }
  const orThrow = async (what: string, ended: Promise<Ended>): Promise<string> => {
    const { code, output } = await ended
    if (code !== 0) throw new Error(`${what} ended with ${code}:\n${output.slice(-4_000)}`)
    return output
  }
  const tryPodman = (...args: readonly string[]) => tryRun(wrapper, args, scratch)
  return {
    tryPodman,
    podman: (...args) => orThrow(`podman ${args[0]}`, tryPodman(...args)),
    compose: (folder, ...args) =>
      orThrow(
        `podman-compose ${args[0]}`,
        tryRun('podman-compose', ['--podman-path', wrapper, ...args], folder),
      ),
    async remove() {
      await tryPodman('rm', '--all', '--force', '--time', '0')
      await tryPodman('network', 'prune', '--force')
      await tryPodman('system', 'reset', '--force')
      view.kill('SIGKILL')
      await rm(scratch, { recursive: true, force: true })
    },
  }
}

/**
 * crun refuses a machine that has both kinds of control groups. One process sees only one of them, and every command is run with
 * its mounts, as those of networks and containers are among them. It ends with us.
 */
async function enterOwnMounts(): Promise<ChildProcess> {
  const script = 'umount /sys/fs/cgroup/unified 2>/dev/null; echo ready; exec cat >/dev/null'
  const view = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(view.stdout, 'data')
  return view
}

/** A base image of this suite with these packages. */
export async function makeBase(
  { podman }: Engine,
  scratch: string,
  {
    suite,
    packages = [],
    tag,
  }: { readonly suite: string; readonly packages?: readonly string[]; readonly tag: string },
): Promise<void> {
  const archive = join(scratch, `${suite}.tar`)
  const include = packages.length > 0 ? [`--include=${packages.join()}`] : []
  await run('mmdebstrap', ['--quiet', '--variant=minbase', ...include, suite, archive])
  await podman('import', '--quiet', archive, tag)
  await rm(archive)
}

/** In place of `node:24-bookworm-slim`: the Node of the lock file, and this machine's npm. */
export async function makeNodeBase({ podman }: Engine, scratch: string, node: string): Promise<void> {
  const context = join(scratch, 'node')
  mkdirSync(context)
  cpSync(node, join(context, 'node'))
  const npm = realpathSync(spawnSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).stdout.trim())
  cpSync(dirname(dirname(npm)), join(context, 'npm'), { recursive: true, dereference: true })
  writeFileSync(
    join(context, 'Containerfile'),
    `FROM docker.io/library/debian:bookworm-slim
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
`,
  )
  await podman('build', '--pull=never', '--tag', 'docker.io/library/node:24-bookworm-slim', context)
}

/** In place of `pgvector/pgvector:pg18`, which takes the same three variables. */
export async function makePostgresImage(engine: Engine, scratch: string, tag: string): Promise<void> {
  const packages = ['postgresql-17', 'postgresql-17-pgvector']
  await makeBase(engine, scratch, { suite: 'trixie', packages, tag: 'localhost/postgres-base' })
  const context = join(scratch, 'postgres')
  mkdirSync(context)
  writeFileSync(
    join(context, 'entrypoint'),
    `#!/bin/sh
set -eu
data=/var/lib/postgresql/svc
# Of /run, which is empty in a container.
install -d -o postgres /run/postgresql
if [ ! -s $data/PG_VERSION ]; then
  printf '%s' "$POSTGRES_PASSWORD" > /tmp/password
  chmod 644 /tmp/password
  chown postgres /var/lib/postgresql
  su postgres -c "initdb -D $data --username=$POSTGRES_USER --pwfile=/tmp/password --auth=scram-sha-256 --auth-local=trust --locale=C.UTF-8"
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> $data/pg_hba.conf
  echo "create database $POSTGRES_DB" | su postgres -c "postgres --single -D $data postgres"
fi
exec su postgres -c "exec postgres -D $data -c listen_addresses='*'"
`,
  )
  chmodSync(join(context, 'entrypoint'), 0o755)
  writeFileSync(
    join(context, 'Containerfile'),
    `FROM localhost/postgres-base
COPY entrypoint /entrypoint
ENV PATH=/usr/lib/postgresql/17/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENTRYPOINT ["/entrypoint"]
`,
  )
  await engine.podman('build', '--pull=never', '--tag', tag, context)
}
