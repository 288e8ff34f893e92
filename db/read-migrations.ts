/** The migrations of this program, in their order. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Migration = {
  readonly name: string
  readonly sha256: string
  readonly statements: readonly string[]
}

/** The folder drizzle-kit writes: its journal gives the order. */
export async function readMigrations(
  folder = fileURLToPath(new URL('./migrations', import.meta.url)),
): Promise<Migration[]> {
  const journal = JSON.parse(await readFile(join(folder, 'meta', '_journal.json'), 'utf8')) as {
    entries: { tag: string }[]
  }
  return Promise.all(
    journal.entries.map(async ({ tag: name }) => {
      const text = await readFile(join(folder, `${name}.sql`), 'utf8')
      const sha256 = createHash('sha256').update(text).digest('hex')
      return { name, sha256, statements: text.split('--> statement-breakpoint') }
    }),
  )
}
