import { matchesGlob } from 'node:path'

/** What of a folder reaches a build: everything is ignored, then some is not, then some is again. */
export function sentToBuild(dockerignore: string): (path: string) => boolean {
  const lines = dockerignore.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const isBelow = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`)
  return (path) =>
    lines.reduce(
      (isSent, line) =>
        line.startsWith('!')
          ? isSent || isBelow(path, line.slice(1))
          : isSent && line !== '*' && !matchesGlob(path, line),
      true,
    )
}
