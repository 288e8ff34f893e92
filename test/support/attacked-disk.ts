/** Disks that misbehave for the installer, and a look at a folder that notices every change. */
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { DISK, type Disk } from '../../src/cli/install/disk.ts'

type Calls = { readonly [Name in keyof Disk]: (...given: never[]) => Promise<unknown> }

/** `before` is asked before every call, those on open files included: it may throw, do mischief, or have the call left out. */
export function disturbed(before: (call: string, path: string) => void | 'skip' | undefined): Disk {
  const disturb = <Given extends unknown[], Answer>(
    name: string,
    call: (...given: Given) => Promise<Answer>,
    path?: string,
  ) => {
    return async (...given: Given): Promise<Answer> => {
      return before(name, path ?? String(given[0])) === 'skip' ? (undefined as Answer) : call(...given)
    }
  }
  const calls = Object.fromEntries(
    Object.entries(DISK as Calls)
      .filter(([, call]) => typeof call === 'function')
      .map(([name, call]) => [name, disturb(name, call as (...given: unknown[]) => Promise<unknown>)]),
  ) as unknown as Disk
  const open = (async (path: string, ...given: [number, number]) => {
    before('open', path)
    const handle = await DISK.open(path, ...given)
    for (const name of ['writeFile', 'sync', 'chmod', 'chown'] as const) {
      const call = handle[name].bind(handle) as (...given: unknown[]) => Promise<void>
      Object.assign(handle, { [name]: disturb(name, call, path) })
    }
    return handle
  }) as unknown as Disk['open']
  return { ...calls, open }
}

/** Nothing is made durable, which takes most of the time and changes nothing that a living machine sees. */
export const swift: Disk = disturbed((call) => (call === 'sync' ? 'skip' : undefined))

export const failing = (code: string): Error => Object.assign(new Error(code), { code })

/** A new folder, in memory where there is such a place: trees are made and thrown away by the hundred. */
export const scratchFolder = (): string =>
  mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : realpathSync(tmpdir()), 'svc-install-'))

/** Every entry below a folder with all that an untouched one keeps. */
export function lookAt(folder: string): Map<string, string> {
  const seen = new Map<string, string>()
  const visit = (path: string): void => {
    const { mode, ino, size, mtimeNs } = lstatSync(path, { bigint: true })
    const kind = lstatSync(path)
    const content = kind.isFile()
      ? readFileSync(path).toString('latin1')
      : kind.isSymbolicLink()
        ? readlinkSync(path)
        : ''
    // Of a folder only what is in it: its own time changes with a neighbour.
    const stamp = kind.isDirectory() ? `${mode}` : `${mode} ${ino} ${size} ${mtimeNs} ${content}`
    seen.set(relative(folder, path), stamp)
    if (kind.isDirectory()) for (const name of readdirSync(path)) visit(join(path, name))
  }
  visit(folder)
  return seen
}
