/** `npm run build`: bundles the client into dist/cli for Node 20: a small entry file and one file for each command. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'rolldown'

const ROOT = join(import.meta.dirname, '..')

/** These stay in the entry file, or in one beside it, so that `svc --help` does not load what commands share. */
const NEEDED_BY_HELP =
  /\/(main|run|environment|command-table|operation-commands|console-pages|find-command|client-version|check-methods|log-levels)\.ts$|\/cli\/rows\//

/** These load modules that most calls do not need: crypto, zlib; or would take the table of commands into the shared file. */
const NEEDED_BY_FEW =
  /\/(update-config|private-files|declared|web-page|login-endpoint|end-login|unpack-revision|read-tar)\.ts$|\/src\/(?:skills|cli\/load|cli\/source)\//

const isForEveryCall = (id: string): boolean => !NEEDED_BY_HELP.test(id) && !NEEDED_BY_FEW.test(id)

/** Writes `root`/dist/cli; the client reads package.json and skills/published in `root`. */
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
      // See bin/svc.cjs: Node's ES module loader is slow to start.
      format: 'cjs',
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name]-[hash].cjs',
      codeSplitting: {
        // One file for what several commands share: opening a file costs more than reading it.
        groups: [{ name: 'shared', minShareCount: 2, test: isForEveryCall }],
      },
      // Keep names, so that stack traces are readable.
      minify: { mangle: false, compress: true, codegen: true },
    },
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await buildClient(ROOT)
  console.log('built dist/cli')
}
