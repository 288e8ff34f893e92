import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { writeTar } from '../../contracts/write-tar.ts'
import { unpackRevision } from './unpack-revision.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-unpack-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const file = (path: string, text: string, isExecutable = false) => ({
  path,
  content: Buffer.from(text),
  isExecutable,
})

test('files are written as they are, executable or not', async () => {
  await unpackRevision(
    gzipSync(writeTar([file('deploy.sh', '#!/bin/sh\n', true), file('src/a/ä.txt', 'text')])),
    folder,
  )
  expect(await readFile(join(folder, 'src/a/ä.txt'), 'utf8')).toBe('text')
  expect((await stat(join(folder, 'deploy.sh'))).mode & 0o777).toBe(0o755)
  expect((await stat(join(folder, 'src/a/ä.txt'))).mode & 0o777).toBe(0o644)
})

test.each(['../outside', '/etc/outside', 'a/../../outside', '.git/hooks/post-checkout'])(
  'nothing is written of an archive with %s',
  async (path) => {
    const archive = gzipSync(writeTar([file('good', 'good'), file(path, 'bad')]))
    await expect(unpackRevision(archive, folder)).rejects.toThrow(/absolute|segment|\.git/)
    expect(await readdir(folder)).toEqual([])
  },
)

test('nor of one with a link', async () => {
  const made = await mkdtemp(join(tmpdir(), 'svc-links-'))
  execFileSync('sh', ['-c', 'ln -s /etc link && echo text > file && tar -cf archive.tar link file'], {
    cwd: made,
  })
  const archive = gzipSync(await readFile(join(made, 'archive.tar')))
  await rm(made, { recursive: true })
  await expect(unpackRevision(archive, folder)).rejects.toThrow('symbolic link')
  expect(await readdir(folder)).toEqual([])
})

test.runIf(inject('everyCase'))('an archive that unpacks to far more than it may is refused', async () => {
  await expect(unpackRevision(gzipSync(Buffer.alloc(130 * 1024 * 1024)), folder)).rejects.toThrow(
    'larger than',
  )
})
