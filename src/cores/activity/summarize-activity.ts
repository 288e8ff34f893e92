/** Calls per day and outcome, and on request the agents that made them, each with its days. */
import { sql } from '../../../db/drizzle.ts'
import { activity } from '../../../db/schema.ts'
import { AGENTS_TOLD_MAX } from '../../contracts/limits.ts'
import { read, type Verb } from '../verb.ts'
import { activityFilter } from './activity-filter.ts'
import { beginOfDays } from './begin-of-days.ts'

const DEFAULT_DAYS = 30
const DAYS_MAX = 400

type Counts = { answered: number; refused: number; failed: number }
type DayRow = Counts & { day: string; questions: number }
type AgentRow = Counts & {
  grant_id: string
  client_id: string
  client_name: string | null
  user_id: string
  user_name: string
  at: string
  days: { day: string; calls: number }[]
}

export const summarizeActivity: Verb<'summarizeActivity'> = read(
  async (context, { agents: withAgents, ...filters }) => {
    const { db, old = db, clock, member, orgId } = context
    const from = filters.from ?? beginOfDays(clock(), DEFAULT_DAYS).toISOString()
    const matching = await activityFilter(context, member, { ...filters, from })
    /*
     * The rows are read once for both. They are counted by day and agent, and those few counts are added up; a day is
     * written as text last. What an agent and its user are called is read from its last call alone.
     */
    const [found] = (await old.execute(sql`
      with counted as materialized (
        select (${activity.at} at time zone 'UTC')::date as day,
          ${withAgents ? sql`${activity.grantId}` : sql`null::text`} as grant_id,
          max(${activity.id}) as last, count(*)::int as calls,
          (count(*) filter (where ${activity.outcome} = 'refused'))::int as refused,
          (count(*) filter (where ${activity.outcome} = 'failed'))::int as failed,
          (count(*) filter (where ${activity.type} = 'data_source'))::int as questions
        from ${activity} where ${matching} group by 1, 2
      ), days as (
        select day, (sum(calls) - sum(refused) - sum(failed))::int as answered, sum(refused)::int as refused,
          sum(failed)::int as failed, sum(questions)::int as questions
        from counted group by day order by day limit ${DAYS_MAX}
      ), agents as (
        select max(last) as last, (sum(calls) - sum(refused) - sum(failed))::int as answered,
          sum(refused)::int as refused, sum(failed)::int as failed,
          json_agg(json_build_object('day', to_char(day, 'YYYY-MM-DD'), 'calls', calls) order by day) as days
        from counted where grant_id is not null group by grant_id order by 1 desc limit ${AGENTS_TOLD_MAX}
      )
      select
        (select json_agg(json_build_object('day', to_char(day, 'YYYY-MM-DD'), 'answered', answered, 'refused', refused,
          'failed', failed, 'questions', questions) order by day) from days) as days,
        (select json_agg(json_build_object('grant_id', a.grant_id, 'client_id', a.client_id, 'client_name', a.client_name,
          'user_id', a.user_id, 'user_name', a.user_name, 'at', a.at, 'answered', agents.answered,
          'refused', agents.refused, 'failed', agents.failed, 'days', agents.days) order by a.id desc)
          from agents join ${activity} a on a.org_id = ${orgId} and a.id = agents.last) as agents`)) as unknown as [
      { days: DayRow[] | null; agents: AgentRow[] | null },
    ]
    return {
      days: found.days ?? [],
      ...(withAgents && { agents: (found.agents ?? []).map(presentAgent) }),
    }
  },
)

const presentAgent = ({ answered, user_id, user_name, at, ...row }: AgentRow) => ({
  ...row,
  calls: answered + row.refused + row.failed,
  user: { id: user_id, name: user_name },
  last_call_at: new Date(at).toISOString(),
})
