/**
 * Where the programs of a Postgres cluster are: Debian 13's Patroni 4, etcd, Postgres 17 and HAProxy. CLUSTER_FOLDER names a
 * folder that holds a system with them (without it, this machine's own); INSTALL=yes makes one.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MAKES = fileURLToPath(new URL('../../.ci/postgres', import.meta.url))

/** Beside what `.ci/postgres` installs anyway. */
const PACKAGES = ['patroni', 'python3-etcd', 'etcd-server', 'haproxy']

export const PROGRAMS = {
  patroni: '/usr/bin/patroni',
  etcd: '/usr/bin/etcd',
  haproxy: '/usr/sbin/haproxy',
  postgres: '/usr/lib/postgresql/17/bin/postgres',
} as const

export type ClusterFolder = { readonly folder: string; readonly remove: () => Promise<void> }

/** Throws what is missing, in words for who asked for it. */
export async function findClusterFolder(env = process.env): Promise<ClusterFolder> {
  const asked = env['CLUSTER_FOLDER'] || undefined
  if (process.getuid?.() !== 0) throw new Error('Not proven: a cluster of its own needs root.')
  if (env['INSTALL'] === 'yes' && !(asked !== undefined && existsSync(asked))) return make(asked)
  const folder = asked ?? '/'
  const missing = whatIsMissing(folder)
  if (missing.length > 0) {
    throw new Error(
      `Not proven: ${folder} has no ${missing.join(', no ')}. INSTALL=yes makes a folder with them (root, a Debian mirror, ` +
        'two minutes, 900 MB); CLUSTER_FOLDER names one that is there, or where it is to be kept.',
    )
  }
  return { folder, remove: async () => {} }
}

/** A folder that was named is kept. */
async function make(asked: string | undefined): Promise<ClusterFolder> {
  const own = asked ? undefined : await mkdtemp(join(tmpdir(), 'svc-cluster-'))
  const folder = asked ?? join(own!, 'debian')
  const remove = async () => {
    if (own) await rm(own, { recursive: true, force: true })
  }
  const { status } = spawnSync(MAKES, ['make', folder, ...PACKAGES], { stdio: 'inherit' })
  const missing = status === 0 ? whatIsMissing(folder) : ['system of Debian 13']
  if (missing.length > 0) {
    await remove()
    throw new Error(`Not proven: what was made has no ${missing.join(', no ')}.`)
  }
  return { folder, remove }
}

function whatIsMissing(folder: string): string[] {
  const missing = Object.entries(PROGRAMS)
    .filter(([, path]) => !existsSync(join(folder, path)))
    .map(([name]) => (name === 'postgres' ? 'Postgres 17' : name))
  if (missing.length > 0) return missing
  // 3.0.2 of Debian 12 may take back the lead of the cluster after a freeze.
  const { stdout } = spawnSync('chroot', [folder, PROGRAMS.patroni, '--version'], { encoding: 'utf8' })
  return /^patroni ([4-9]|\d\d)\./.test(stdout) ? [] : [`Patroni 4 (it has: ${stdout.trim() || 'none'})`]
}
