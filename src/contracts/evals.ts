/** Evals: questions whose answers are known, asked to see how well a data source is searched. */
import * as z from 'zod'
import { queryDataSource, sourceId } from './data-sources.ts'
import { field } from './field.ts'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { EVAL, EVAL_HITS } from './limits.ts'
import { creating, reading, updating } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

const { query, target, filters } = queryDataSource.input.shape

const EvalQuestion = z.strictObject({
  question: query,
  expect: z
    .array(z.string().min(1).max(1_000))
    .max(EVAL.expected)
    .describe(
      'Rows that answer it, by their ids; of documents also by path, or path#heading. None: nothing answers it.',
    ),
  target,
  filters,
})
export type EvalQuestion = z.output<typeof EvalQuestion>

const EvalChange = z.object({
  what: z.enum(['model', 'configuration', 'rows']),
  at: Time.nullable().describe('null: some time since the eval before.'),
})
export type EvalChange = z.output<typeof EvalChange>

const Eval = z.object({
  id: z.string(),
  source_id: z.string(),
  questions: z.int(),
  asked: z.int().describe('Of its questions; all of them once it has finished.'),
  recall_at_5: z
    .number()
    .nullable()
    .describe(
      `Share of the expected rows among the first ${EVAL_HITS.recall} hits, the mean of the questions. null: no question has an answer.`,
    ),
  mrr: z
    .number()
    .nullable()
    .describe(
      `Mean of 1/rank of the first expected row among the first ${EVAL_HITS.searched} hits, 0 where there is none.`,
    ),
  rows: z.int().nullable().describe('Rows with which it began; null: not counted.'),
  changes: z.array(EvalChange).describe('What has changed since the eval before.'),
  created_by: z.string().describe('Whoever asked: what is found depends on which rows they see.'),
  created_at: Time,
  finished_at: Time.nullable(),
})

const evalId = Id('evl')
const developing = { service: 'api-gateway', access: 'developer' } as const

export const startEval = creating({
  ...developing,
  name: 'startEval',
  summary: 'Begin an eval of a data source. An unfinished one of yours is given up.',
  input: z.object({
    ...sourceId,
    questions: z.int().min(1).max(EVAL.questions).describe('How many will be asked.'),
  }),
  output: Eval,
  closedToSupport: true,
  errors: ['NOT_FOUND', 'NO_SEMANTIC_SEARCH', 'SOURCE_FAILED', 'TIMEOUT'],
  http: { method: 'post', path: '/api/wf/data-sources/{source_id}/evals', success: 201 },
})

const EvalHit = z.object({
  id: z.string(),
  title: z.string().nullable(),
  target: z.string(),
  score: z.number().nullable(),
  path: z.string().optional().describe('Of a document.'),
  heading: z.string().optional().describe('Of a passage.'),
})

export const askEval = creating({
  ...developing,
  name: 'askEval',
  recordsActivity: true,
  summary: 'Ask the next questions of an eval, as yourself. Neither they nor the hits are kept.',
  input: z.object({
    ...sourceId,
    eval_id: evalId,
    from: z
      .int()
      .min(0)
      .max(EVAL.questions)
      .describe(
        'How many were asked before. Those below `asked` of the eval, whose answer was lost, are answered again, and count once.',
      ),
    questions: z.array(EvalQuestion).min(1).max(EVAL.perCall),
  }),
  output: z.object({
    eval: Eval,
    answers: z
      .array(
        z.object({
          rank: z.int().nullable().describe('Of the first expected row; null: it was not found.'),
          missing: z
            .array(z.string())
            .describe(`Expected, and not among the first ${EVAL_HITS.recall} hits.`),
          hits: z.array(EvalHit).describe(`The first ${EVAL_HITS.recall}.`),
          weak: z.literal(true).optional(),
        }),
      )
      .describe('In the order of the questions. Fewer than there were: ask the rest with the next call.'),
  }),
  closedToSupport: true,
  errors: [
    'NOT_FOUND',
    'CONFLICT',
    'RATE_LIMITED',
    'NO_SEMANTIC_SEARCH',
    'INVALID_SEARCH_CONFIGURATION',
    'FILTER_NOT_ALLOWED',
    'EMBEDDING_UNAVAILABLE',
    'SOURCE_FAILED',
    'TIMEOUT',
  ],
  http: { method: 'post', path: '/api/wf/data-sources/{source_id}/evals/{eval_id}/questions' },
})

const Threshold = z.object({
  target: z.string().describe('Label of a searchable table.'),
  score: z.number().describe('Hits with a lower score are weak.'),
  applies: z
    .boolean()
    .describe('False once the table is searched in another way: its scores mean something else.'),
})

export const listEvals = reading({
  ...developing,
  name: 'listEvals',
  summary: 'List the finished evals of a data source, and its threshold.',
  input: z.object({ ...sourceId, ...pageInput }),
  output: z.object({
    evals: z.array(Eval).describe('Newest first.'),
    thresholds: z.array(Threshold).describe('Empty: none is set.'),
    threshold_eval_id: z.string().nullable().describe('The eval that the threshold is from.'),
    changes_since: z
      .array(EvalChange)
      .describe('What is known to have changed since the newest; on the first page.'),
    ...pageOutput,
  }),
  errors: ['NOT_FOUND'],
  command: {
    path: 'datasource evals',
    summary: 'List the evals of a data source (developer or higher)',
    arguments: ['source_id'],
    table:
      'EVAL=id, questions, RECALL@5=recall_at_5:scalar, MRR=mrr:scalar, CHANGED=changes.what, BY=created_by, FINISHED=finished_at',
    examples: ['svc datasource evals db_handbook', 'svc datasource evals db_handbook --all --json'],
  },
  http: { method: 'get', path: '/api/wf/data-sources/{source_id}/evals' },
})

export const setThreshold = updating({
  ...developing,
  name: 'setThreshold',
  summary:
    'Set the threshold of a data source from an eval, or remove it. Answers without a hit that reaches it are marked weak.',
  input: z.object({
    ...sourceId,
    eval_id: field(evalId.nullable().describe('A finished eval; null removes the threshold.'), {
      client: 'evl_…, from `svc datasource evals`',
    }),
  }),
  output: z.object({ thresholds: z.array(Threshold) }),
  closedToSupport: true,
  errors: ['NOT_FOUND', 'CONFLICT'],
  command: [
    {
      path: 'datasource threshold set',
      summary: 'Mark answers below a threshold as weak, learned from an eval (developer or higher)',
      arguments: ['source_id', 'eval_id'],
      table: 'TARGET=target, SCORE=score:scalar',
      rows: 'thresholds',
      examples: ['svc datasource threshold set db_handbook evl_0abc…'],
    },
    {
      path: 'datasource threshold remove',
      summary: 'Mark no answer as weak any more (developer or higher)',
      arguments: ['source_id'],
      always: { eval_id: null },
      done: 'Answers are no longer marked as weak',
      examples: ['svc datasource threshold remove db_handbook'],
    },
  ],
  http: { method: 'put', path: '/api/wf/data-sources/{source_id}/threshold' },
})
