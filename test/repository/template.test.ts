/** db/template.zst was made with the migrations and the engine of today. db/template.test.ts looks into it. */
import { expect, test } from 'vitest'
import { isFresh, templateOrigin } from '../../scripts/generated/template.ts'
import { fitsControl, fitsManaged } from '../../db/template.ts'
import { readMigrations } from '../../db/read-migrations.ts'

const migrations = await readMigrations()
const added = { name: '9999_toys', sha256: 'x', statements: [] }
const changed = migrations.map((migration) => ({ ...migration, sha256: 'x' }))

test('db/template.zst is fresh', () => {
  expect(isFresh(migrations), 'run: npm run generate').toBe(true)
})

test('it is not once a migration is added, changed or gone, nor without the file', () => {
  expect([
    isFresh([...migrations, added]),
    isFresh(changed),
    isFresh(migrations.slice(1)),
    isFresh(migrations, '/no/such/template.zst'),
  ]).toEqual([false, false, false, false])
})

test('a new database begins with it as long as engine and applied migrations are the same', () => {
  const origin = templateOrigin(migrations)
  const [otherEngine, otherVector] = [
    { ...origin, pglite: '0.0.1' },
    { ...origin, pgvector: '0.0.1' },
  ]
  expect([fitsControl(origin, migrations), fitsControl(origin, [...migrations, added])]).toEqual([true, true])
  expect([
    fitsControl(origin, changed),
    fitsControl(origin, migrations.slice(0, -1)),
    fitsControl(origin, []),
    fitsControl(otherEngine, migrations),
  ]).toEqual([false, false, false, false])
  expect([fitsManaged(origin), fitsManaged(otherEngine), fitsManaged(otherVector)]).toEqual([
    true,
    false,
    false,
  ])
})
