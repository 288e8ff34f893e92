/**
 * Which revision the files of a folder were made from, in its `.svc/app.json`: the last one that was pushed from it or pulled
 * into it. No part of the source, nor of a repository: each copy of the folder has its own.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readJsonObject } from '../../contracts/read-json.ts'
import type { CommandContext } from '../command-context.ts'

/** Of a source tree. Pushes leave it out. */
export const APP_FILE = '.svc/app.json'

/** Undefined: nothing is known, or only of another app or server. */
export async function readPushedRevision(
  ctx: CommandContext,
  folder: string,
  alias: string,
): Promise<string | undefined> {
  const path = join(folder, APP_FILE)
  if (!existsSync(path)) return undefined
  const saved = readJsonObject(readFileSync(path, 'utf8'))
  const { apiUrl } = await ctx.resolveContext()
  if (saved?.['server'] !== apiUrl.origin || saved['app'] !== alias) return undefined
  const { revision } = saved
  return typeof revision === 'string' && /^rev_[0-9a-z]{25}$/.test(revision) ? revision : undefined
}

export async function savePushedRevision(
  ctx: CommandContext,
  folder: string,
  alias: string,
  revision: string,
): Promise<void> {
  const { apiUrl } = await ctx.resolveContext()
  const path = join(folder, APP_FILE)
  const own = join(folder, '.svc')
  // Whatever a repository has put there: nothing is written through a link.
  if (lstatSync(own, { throwIfNoEntry: false })?.isSymbolicLink()) return
  mkdirSync(own, { recursive: true })
  if (!lstatSync(join(own, '.gitignore'), { throwIfNoEntry: false }))
    writeFileSync(join(own, '.gitignore'), '*\n', { flag: 'wx' })
  const saved = { server: apiUrl.origin, app: alias, revision }
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  writeFileSync(temporary, `${JSON.stringify(saved, null, 2)}\n`, { flag: 'wx' })
  renameSync(temporary, path)
}
