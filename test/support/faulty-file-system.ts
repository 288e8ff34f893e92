/** File systems with faults for the installer, and a snapshot of a folder that shows every change. */
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
import { NODE_FS, type FileSystem } from '../../src/cli/install/file-system.ts'

type Calls = { readonly [Name in keyof FileSystem]: (...given: never[]) => Promise<unknown> }

/** `before` runs before every call, also those on open files: it may throw, change files, or skip the call. */
export function faultyFileSystem(
  before: (call: string, path: string) => void | 'skip' | undefined,
): FileSystem {
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
    Object.entries(NODE_FS as Calls)
      .filter(([, call]) => typeof call === 'function')
      .map(([name, call]) => [name, disturb(name, call as (...given: unknown[]) => Promise<unknown>)]),
  ) as unknown as FileSystem
  const open = (async (path: string, ...given: [number, number]) => {
    before('open', path)
    const handle = await NODE_FS.open(path, ...given)
    for (const name of ['writeFile', 'sync', 'chmod', 'chown'] as const) {
      const call = handle[name].bind(handle) as (...given: unknown[]) => Promise<void>
      Object.assign(handle, { [name]: disturb(name, call, path) })
    }
    return handle
  }) as unknown as FileSystem['open']
  return { ...calls, open }
}

/** Without sync, which takes most of the time and matters only after a power cut. */
export const unsyncedFileSystem: FileSystem = faultyFileSystem((call) =>
  call === 'sync' ? 'skip' : undefined,
)

export const fsError = (code: string): Error => Object.assign(new Error(code), { code })

/** A new folder, in memory where possible: tests create hundreds of them. */
export const scratchFolder = (): string =>
  mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : realpathSync(tmpdir()), 'svc-install-'))

/** Every entry below a folder with everything that an untouched one keeps. */
export function snapshotFolder(folder: string): Map<string, string> {
  const seen = new Map<string, string>()
  const visit = (path: string): void => {
    const { mode, ino, size, mtimeNs } = lstatSync(path, { bigint: true })
    const kind = lstatSync(path)
    const content = kind.isFile()
      ? readFileSync(path).toString('latin1')
      : kind.isSymbolicLink()
        ? readlinkSync(path)
        : ''
    // Of a folder only what is in it: its own time changes with a neighbor.
    const stamp = kind.isDirectory() ? `${mode}` : `${mode} ${ino} ${size} ${mtimeNs} ${content}`
    seen.set(relative(folder, path), stamp)
    if (kind.isDirectory()) for (const name of readdirSync(path)) visit(join(path, name))
  }
  visit(folder)
  return seen
}
