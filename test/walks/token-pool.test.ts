/** The tokens of a day: reserved before a request, settled after it, never more than allowed. */
import { and, eq, sql } from '../../db/drizzle.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tokenPools, tokenReservations } from '../../db/schema.ts'
import {
  closeReservations,
  expireReservations,
  markSent,
  noteOutcome,
  readOutageState,
  readTokenPool,
  reserveTokens,
  settleTokens,
  sweepTokenPools,
} from '../../src/cores/token-pool/index.ts'
import { hasOneConnection } from '../support/left-out.ts'
import { makeOrganization, unique } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' })
})
afterAll(() => system.stop())

const ALLOWANCE = 1000

async function pool() {
  const { id: orgId } = await makeOrganization(system)
  const purpose = unique('run')
  const now = system.clock.now()
  const reserve = (amount: number, allowance = ALLOWANCE) =>
    reserveTokens(system.db, { orgId, amount, allowance, purpose, now, leaseSeconds: 60 })
  const read = (allowance = ALLOWANCE) => readTokenPool(system.db, { orgId, now, allowance })
  return { orgId, purpose, reserve, read }
}

test('what is reserved and spent never exceeds the allowance, however many reserve at once', async () => {
  const { reserve, read } = await pool()
  const taken = (await Promise.all(Array.from({ length: 60 }, () => reserve(30)))).filter(Boolean)
  expect(taken).toHaveLength(33)
  expect(await read()).toMatchObject({ reserved: 990, spent: 0 })
})

test('another organization has its own', async () => {
  const [one, other] = [await pool(), await pool()]
  await one.reserve(ALLOWANCE)
  expect(await one.reserve(1)).toBeUndefined()
  expect(await other.reserve(ALLOWANCE)).toBeDefined()
})

test('an answer frees what it did not use, and is booked once', async () => {
  const { reserve, read } = await pool()
  const reservation = (await reserve(300))!
  expect(await markSent(system.db, reservation)).toBe(true)
  expect(await settleTokens(system.db, reservation, 120)).toBe(true)
  expect(await settleTokens(system.db, reservation, 120)).toBe(false)
  expect(await read()).toMatchObject({ reserved: 0, spent: 120, overage: 0 })
})

test('an outage is booked apart, and takes a tenth of the allowance at most', async () => {
  const { reserve, read } = await pool()
  await settleTokens(system.db, (await reserve(80))!, null, true)
  await settleTokens(system.db, (await reserve(300))!, 0, true)
  expect(await read()).toMatchObject({ reserved: 0, spent: 0, outage: 80 })
  await settleTokens(system.db, (await reserve(500))!, null, true)
  expect(await read()).toMatchObject({ reserved: 0, spent: 0, outage: 100 })
  // It counts all the same: whoever was down may send a bill.
  expect(await reserve(901)).toBeUndefined()
  expect(await reserve(900)).toBeDefined()
})

test('a model that answers too late is left alone by whoever it was too late for, one that is down by everybody', async () => {
  const [one, other, third] = [await pool(), await pool(), await pool()]
  const [model, now] = [unique('model'), system.clock.now()]
  const note = async (outcome: 'timeout' | 'outage' | 'answered', ...by: { orgId: string }[]) => {
    for (const { orgId } of by) await noteOutcome(system.db, { orgId, model, now }, outcome)
  }
  const state = ({ orgId }: { orgId: string }) => readOutageState(system.db, { orgId, model, now })
  await note('timeout', one, other)
  expect(await state(one)).toEqual({ own: false, everybody: false })
  await note('timeout', one, other)
  expect(await state(one)).toEqual({ own: true, everybody: false })
  expect(await state(third)).toEqual({ own: false, everybody: false })
  await note('outage', one, one, other)
  expect(await state(third)).toEqual({ own: false, everybody: false })
  await note('outage', other)
  expect(await state(third)).toEqual({ own: false, everybody: true })
  await note('answered', third)
  expect([await state(one), await state(third)]).toEqual([
    { own: false, everybody: false },
    { own: false, everybody: false },
  ])
})

test('usage that nobody told counts in full, and more than reserved is booked apart', async () => {
  const { reserve, read } = await pool()
  await settleTokens(system.db, (await reserve(300))!, null)
  await settleTokens(system.db, (await reserve(700))!, 900)
  expect(await read()).toMatchObject({ reserved: 0, spent: 1000, overage: 200 })
  expect(await reserve(1)).toBeUndefined()
})

test('what was used beyond a reservation leaves so much less for the next ones', async () => {
  const { reserve, read } = await pool()
  const other = await pool()
  await settleTokens(system.db, (await reserve(100))!, 700)
  expect(await read()).toMatchObject({ spent: 100, overage: 600 })
  expect(await reserve(301)).toBeUndefined()
  expect(await reserve(300)).toBeDefined()
  expect(await reserve(1)).toBeUndefined()
  expect(await other.reserve(ALLOWANCE)).toBeDefined()
})

test('what was never sent is free again when its run ends, what was sent counts in full', async () => {
  const { orgId, purpose, reserve, read } = await pool()
  const [held, sent] = [(await reserve(200))!, (await reserve(300))!]
  await markSent(system.db, sent)
  const own = and(eq(tokenReservations.orgId, orgId), eq(tokenReservations.purpose, purpose))
  expect(await system.db.transaction((tx) => closeReservations(tx, own))).toBe(2)
  expect(await read()).toMatchObject({ reserved: 0, spent: 300 })
  expect(await markSent(system.db, held)).toBe(false)
  expect(await settleTokens(system.db, sent, 10)).toBe(false)
})

const warnings: unknown[] = []
const expire = () =>
  expireReservations({ db: system.db, log: { warn: (...what: unknown[]) => void warnings.push(what) } })
const endLeases = (orgId: string) =>
  system.db
    .update(tokenReservations)
    .set({ expiresAt: sql`clock_timestamp() - interval '1 second'` })
    .where(eq(tokenReservations.orgId, orgId))

/** Whatever the clocks of the processes say. */
test('reservations of the dead are closed when they expire by the database’s clock, and not before', async () => {
  const { orgId, reserve, read } = await pool()
  const other = await pool()
  await markSent(system.db, (await reserve(400))!)
  await reserve(100)
  await other.reserve(50)
  await expire()
  expect(await read()).toMatchObject({ reserved: 500, spent: 0 })
  await endLeases(orgId)
  await expire()
  expect(await read()).toMatchObject({ reserved: 0, spent: 400 })
  expect(await other.read()).toMatchObject({ reserved: 50 })
})

test('however many of one organization have expired, all are closed; one that cannot be keeps none waiting', async () => {
  const [many, broken, other] = [await pool(), await pool(), await pool()]
  for (let n = 0; n < 130; n++) await many.reserve(1)
  for (const { orgId, reserve } of [broken, other]) {
    await reserve(10)
    await endLeases(orgId)
  }
  await endLeases(many.orgId)
  await system.db.update(tokenPools).set({ reserved: 0 }).where(eq(tokenPools.orgId, broken.orgId))
  await expire()
  expect([await many.read(), await other.read()]).toMatchObject([{ reserved: 0 }, { reserved: 0 }])
  expect(warnings).toContainEqual(['a reservation of tokens was not closed', expect.anything()])
  await system.db.delete(tokenReservations).where(eq(tokenReservations.orgId, broken.orgId))
})

test('days that are long over are removed, today is not, also by a process whose clock is ahead', async () => {
  const { orgId, reserve } = await pool()
  await settleTokens(system.db, (await reserve(10))!, 10)
  // One that is open is closed first, whenever that may be.
  const open = (await reserve(20))!
  const today = sql`(clock_timestamp() at time zone 'UTC')::date`
  await system.db.insert(tokenPools).values([
    { orgId, day: today, allowance: 1 },
    { orgId, day: sql`${today} - 400`, allowance: 1 },
  ])
  await system.db
    .update(tokenReservations)
    .set({ expiresAt: sql`clock_timestamp() - interval '30 days'` })
    .where(eq(tokenReservations.orgId, orgId))
  const [ahead] = await system.db.execute<{ time: string }>(
    sql`select clock_timestamp() + interval '1 year' as time`,
  )
  await sweepTokenPools({ db: system.db, clock: () => new Date(ahead!.time) })
  const days = await system.db
    .select({ isToday: sql<boolean>`day = ${today}` })
    .from(tokenPools)
    .where(and(eq(tokenPools.orgId, orgId), sql`day > ${today} - 30 or day < ${today} - 300`))
  expect(days).toEqual([{ isToday: true }])
  const left = await system.db.select().from(tokenReservations).where(eq(tokenReservations.orgId, orgId))
  expect(left.map(({ id }) => id)).toEqual([open.id])
})

test('a lowered allowance counts at once, a raised one too', async () => {
  const { reserve } = await pool()
  await settleTokens(system.db, (await reserve(600))!, 600)
  expect(await reserve(100, 650)).toBeUndefined()
  expect(await reserve(50, 650)).toBeDefined()
  expect(await reserve(100, 2000)).toBeDefined()
})

/** Whatever a verb forgets. */
test('the database itself refuses to exceed it', async () => {
  const { orgId, reserve } = await pool()
  await reserve(ALLOWANCE)
  await expect(
    system.db
      .update(tokenPools)
      .set({ reserved: sql`${tokenPools.reserved} + 1` })
      .where(eq(tokenPools.orgId, orgId)),
  ).rejects.toMatchObject({ cause: { code: '23514' } })
})

test.skipIf(hasOneConnection)('answers and endings that race close each reservation once', async () => {
  const { orgId, purpose, reserve, read } = await pool()
  const reservations = []
  for (let i = 0; i < 20; i++) {
    const reservation = (await reserve(50))!
    await markSent(system.db, reservation)
    reservations.push(reservation)
  }
  const own = and(eq(tokenReservations.orgId, orgId), eq(tokenReservations.purpose, purpose))
  const results = await Promise.all([
    ...reservations.map(async (reservation) => Number(await settleTokens(system.db, reservation, 50))),
    system.db.transaction((tx) => closeReservations(tx, own)),
  ])
  expect(results.reduce((sum, closed) => sum + closed, 0)).toBe(20)
  expect(await read()).toMatchObject({ reserved: 0, spent: 1000 })
})
