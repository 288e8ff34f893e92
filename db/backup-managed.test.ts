/** What a backup takes along, of folders that no database was ever opened in; backup.test.ts opens them. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { backupEmbedded, managedFolder } from './backup.ts'
import { databaseFolder } from './embedded.ts'
import { untar } from './tar.ts'

test('a backup holds every managed database, and none that is half made, for its owner only', async () => {
  const home = await mkdtemp(join(tmpdir(), 'svc-backup-managed-'))
  try {
    const [data, file, copy] = [join(home, 'data'), join(home, 'svc.backup'), join(home, 'copy')]
    const write = async (folder: string, name: string, text: string) => {
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, name), text)
    }
    await write(databaseFolder(data), 'PG_VERSION', '18\n')
    const names = ['t0k3x9w2m_8c1v5b7n2ka_notes', 't0k3x9w2m_90d4f6h8j1b_notes_of_2026', 't1']
    for (const name of [...names, 'half.partial-abc'])
      await write(join(managedFolder(data), name, 'base'), '1', name)
    await backupEmbedded(data, file)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    await mkdir(copy)
    await untar(Readable.from([gunzipSync(await readFile(file))]), copy)
    expect(await readdir(join(copy, 'm'))).toEqual(names)
    for (const name of names) expect(await readFile(join(copy, 'm', name, 'base', '1'), 'utf8')).toBe(name)
  } finally {
    await rm(home, { recursive: true })
  }
})
