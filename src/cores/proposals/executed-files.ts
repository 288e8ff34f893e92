/**
 * The files of a tree that something runs before anybody looks at the app: those that the runner's command names, and those
 * that scripts of a manifest name, which run when the app is installed or built. By name alone, in whatever shell: it finds
 * too much rather than too little. Pure.
 */
import { posix } from 'node:path'
import { readJsonObject } from '../../contracts/read-json.ts'

export type ManifestText = { readonly path: string; readonly text: string }

/** Manifests that say what to run. */
export const isManifest = (path: string): boolean => /(?:^|\/)(?:package|composer)\.json$/i.test(path)

/** Of those that the tree has, and those that a change would create. */
export function executedFiles(
  paths: readonly string[],
  commands: readonly string[],
  manifests: readonly ManifestText[],
): ReadonlySet<string> {
  const byCommand = commands.flatMap(namesIn).flatMap((name) => ENDINGS.map((ending) => name + ending))
  const byManifest = new Set(
    manifests.flatMap(({ path, text }) =>
      scriptsIn(text)
        .flatMap(namesIn)
        .map((name) => posix.join(posix.dirname(path), name))
        .flatMap((name) => ENDINGS.map((ending) => name + ending)),
    ),
  )
  return new Set(paths.filter((path) => byManifest.has(path) || byCommand.some((name) => mayBe(name, path))))
}

/** A command may go to a folder first, or name the whole path on its machine. */
const mayBe = (name: string, path: string): boolean =>
  path === name || name.endsWith(`/${path}`) || path.endsWith(`/${name}`)

/** Whatever could be a path, between what shells take for a separator. */
const namesIn = (command: string): string[] =>
  command
    .split(/[\s"'`;|&()<>=,$]+/)
    .filter((word) => word !== '' && word.length <= 1_000)
    .map((word) => posix.normalize(word))

/** Node finds a module without its ending. */
const ENDINGS = ['', '.js', '.cjs', '.mjs', '.ts']

/** Those that run before the app does: what starts, tests or checks it is the app itself. */
const RUNS_BEFORE = /install|build|prepare|prepublish|pack|compile|bundle|deploy|release|update|autoload/i

/** Of a manifest that is none, nothing. */
function scriptsIn(text: string): string[] {
  const scripts = readJsonObject(text)?.['scripts']
  if (typeof scripts !== 'object' || scripts === null) return []
  return Object.entries(scripts)
    .flatMap(([name, script]: [string, unknown]) => (RUNS_BEFORE.test(name) ? [script].flat() : []))
    .filter((script): script is string => typeof script === 'string')
}
