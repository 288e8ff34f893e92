/** The client as `npm i -g` lays it out: built, without sources, and run by the Node that the machine has. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join, sep } from 'node:path'
import { layOutClient } from '../../scripts/pack-client.ts'

/** Answers the file that `svc` is a link to. */
export async function installClient(folder: string): Promise<string> {
  await layOutClient(folder)
  return join(folder, 'bin', 'svc.cjs')
}

/** Not the one that npm brought here; that one where there is no other. */
export function machinesNode(): { readonly path: string; readonly version: string } {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const found = folders
    .filter((folder) => !folder.includes(`${sep}node_modules${sep}`))
    .map((folder) => join(folder, 'node'))
    .find((path) => existsSync(path))
  const path = found ?? process.execPath
  return { path, version: execFileSync(path, ['--version'], { encoding: 'utf8' }).trim() }
}
