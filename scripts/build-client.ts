/** `npm run build`: bundles the client into dist/cli for Node 20, a small file that starts and one for each command. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'rolldown'

const ROOT = join(import.meta.dirname, '..')

/** These stay in the file that starts, so that `svc --help` opens nothing else of ours but its own text. */
const NEEDED_BY_HELP = /\/(main|run|environment|commands|find-command|client-version|limits)\.ts$/

/** These load what a call of the server has no use for: crypto, zlib. */
const NEEDED_BY_FEW = /\/(change-logins|private-files)\.ts$|\/src\/skills\//

const isForEveryCall = (id: string): boolean => !NEEDED_BY_HELP.test(id) && !NEEDED_BY_FEW.test(id)

/** `root` is where dist/cli is made; the client looks for package.json and skills/published there. */
export async function buildClient(root: string): Promise<void> {
  const dir = join(root, 'dist', 'cli')
  rmSync(dir, { recursive: true, force: true })
  await build({
    cwd: ROOT,
    input: 'src/cli/main.ts',
    platform: 'node',
    transform: { target: 'node20' },
    logLevel: 'warn',
    output: {
      dir,
      // See bin/svc.cjs: Node's loader of ES modules is slow to start.
      format: 'cjs',
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name]-[hash].cjs',
      codeSplitting: {
        // What several commands share is one file and not twenty: to open a file costs more than to read it.
        groups: [{ name: 'shared', minShareCount: 2, test: isForEveryCall }],
      },
      // Names stay, so that a stack in a report says something.
      minify: { mangle: false, compress: true, codegen: true },
    },
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await buildClient(ROOT)
  console.log('built dist/cli')
}
