/** The check that every walk makes of its statements, on planted ones. */
import { expect, test } from 'vitest'
import { crossing, selfComparison } from '../support/crossing-statements.ts'

test.each([
  'select * from memberships m join apps a on a.org_id = m.org_id',
  'select "apps"."id" from "apps" inner join "memberships" on true',
  'SELECT 1 FROM public.apps, public.users',
  'select 1 from apps a, lateral (select 1) x, users u',
  'select 1 from apps join tickets on tickets.app_id = apps.id and f(1, 2), users',
  'update apps set name = 1 from users where users.id = created_by',
  'delete from tickets using memberships where true',
  'insert into notifications (org_id, user_id) select org_id, user_id from memberships',
  'with gone as (delete from memberships returning *) delete from app_members using gone',
  'select * from apps where exists (select 1 from "users" where id = created_by)',
  'select * from apps where created_by in (select id from only users)',
  'select (select name from organizations o where o.id = a.org_id), a.id from apps a',
  "select '--' from apps join users on true",
])('crosses: %s', (text) => {
  expect(crossing(text)).toMatch(
    /^identity: .*(memberships|users|organizations).*; tenant: .*(apps|tickets|notifications|app_members)/,
  )
})

test.each([
  'select * from apps join tickets on tickets.app_id = apps.id',
  'select * from memberships join users on users.id = memberships.user_id',
  // The audit trail lies beside either.
  'insert into audit_log select * from users',
  'insert into audit_log select * from apps',
  // Names of tables that are columns, aliases, texts or comments here.
  'select attempts, events from users order by attempts, events',
  "select * from users where name = 'from apps' -- from apps",
  'select * from users /* join apps */ where bio = $tag$ from apps $tag$',
  'update messages set attempts = attempts + 1 where sessions is distinct from users',
  'insert into users (id, apps, tickets) values ($1, $2, $3)',
  'insert into users (id) values ($1) on conflict (id) do update set notifications = excluded.notifications',
  'select id from sessions for update of sessions skip locked',
  'select 1 from information_schema.tables',
  // Two statements in one text, each of one kind.
  'select * from apps; select * from users',
])('stays within one kind: %s', (text) => {
  expect(crossing(text)).toBeUndefined()
})

test.each([
  ['select (select p.effect from proposals p where p.org_id = "org_id") from "findings"', true],
  ['select (select p.effect from proposals p where p.org_id = findings.org_id) from "findings"', false],
  ['select (select p.effect from proposals p where p.org_id = "findings"."org_id") from "findings"', false],
  ['select (select timing from subscriptions s where s.id = "subscription_id") from "deliveries"', false],
])('compares a column with itself: %s is %s', (text, is) =>
  expect(selfComparison(text) !== undefined).toBe(is),
)
