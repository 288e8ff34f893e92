/**
 * The files of a tree that something runs before anybody looks at the app: those that the runner's command names, and those
 * that scripts of a manifest name, which run when the app is installed or built. By name alone, in whatever shell: it finds
 * too much rather than too little. Pure.
 */
import { posix } from 'node:path'

export type ManifestText = { readonly path: string; readonly text: string }

/** Manifests that say what to run. */
export const isManifest = (path: string): boolean => /(?:^|\/)(?:package|composer)\.json$/i.test(path)

export function executedFiles(
  paths: readonly string[],
  commands: readonly string[],
  manifests: readonly ManifestText[],
): ReadonlySet<string> {
  const known = new Set(paths)
  const named = [
    ...commands.flatMap((command) => namesIn(command)),
    ...manifests.flatMap(({ path, text }) =>
      scriptsIn(text)
        .flatMap(namesIn)
        .map((name) => posix.join(posix.dirname(path), name)),
    ),
  ]
  return new Set(named.flatMap((name) => filesOf(posix.normalize(name), known)))
}

/** Whatever could be a path, between what shells take for a separator. */
const namesIn = (command: string): string[] =>
  command.split(/[\s"'`;|&()<>=,$]+/).filter((word) => word !== '' && word.length <= 1_000)

/** Node finds a module without its ending. */
const ENDINGS = ['', '.js', '.cjs', '.mjs', '.ts', '.json', '/index.js', '/index.ts']

const filesOf = (name: string, known: ReadonlySet<string>): string[] =>
  ENDINGS.map((ending) => name + ending).filter((path) => known.has(path))

/** Of a manifest that is none, nothing. */
function scriptsIn(text: string): string[] {
  try {
    const { scripts } = JSON.parse(text) as { scripts?: unknown }
    if (typeof scripts !== 'object' || scripts === null) return []
    return Object.values(scripts)
      .flat()
      .filter((script): script is string => typeof script === 'string')
  } catch {
    return []
  }
}
