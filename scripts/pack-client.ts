/** `npm run pack:client`: packs the client as a package of its own, without dependencies and without the server. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildClient } from './build-client.ts'

const ROOT = join(import.meta.dirname, '..')

/** With a scope: on the public registry `svc` alone is somebody else's package. */
const NAME = '@svc-dev/client'

/** Where the package has them, and where they are here. */
const FILES = {
  LICENSE: 'LICENSE',
  'README.md': 'src/cli/README.md',
  'bin/svc.cjs': 'bin/svc.cjs',
  'skills/published': 'skills/published',
}

/** Writes the files of the package to `folder`. */
export async function layOutClient(folder: string): Promise<void> {
  const { version, license, engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string
    license: string
    engines: object
  }
  const manifest = {
    name: NAME,
    version,
    description: "The client of svc: query your organization's data and manage access to it.",
    license,
    engines,
    bin: { svc: 'bin/svc.cjs' },
    files: ['bin', 'dist', 'skills'],
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  for (const [to, from] of Object.entries(FILES)) {
    cpSync(join(ROOT, from), join(folder, to), { recursive: true })
  }
  await buildClient(folder)
}

/** Returns the archive. */
export async function packClient(destination: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-client-'))
  try {
    await layOutClient(folder)
    mkdirSync(destination, { recursive: true })
    const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', resolve(destination)], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [{ filename }] = JSON.parse(packed) as [{ filename: string }]
    // Older versions of npm answer the name of the package here.
    return join(resolve(destination), filename.replace('@', '').replace('/', '-'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(await packClient(process.argv[2] ?? join(ROOT, 'dist')))
}
