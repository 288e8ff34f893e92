/** Embeddings in the form that every OpenAI client speaks, for whoever fills a vector column. */
import * as z from 'zod'
import { EMBEDDINGS_MAX_BYTES, EMBEDDINGS_MAX_TEXTS } from './limits.ts'
import { creating } from './operation.ts'

/** Numbers are tokens of a model that we do not have. */
const TEXT_ERROR =
  'must be text, or a list of texts; tokens are not taken (in LangChain: check_embedding_ctx_length=False)'

const Text = z.string(TEXT_ERROR).refine((text) => text.trim() !== '', 'must not be empty')

export const createEmbeddings = creating({
  service: 'api-gateway',
  name: 'createEmbeddings',
  durability: 'local',
  summary: 'Embed texts, as OpenAI’s API does.',
  input: z.object({
    model: z.string().min(1).max(100),
    input: z
      .union([Text, z.array(Text).min(1).max(EMBEDDINGS_MAX_TEXTS)], {
        error: (issue) => (typeof issue.input === 'string' ? 'must not be empty' : TEXT_ERROR),
      })
      .describe(`A text, or up to ${EMBEDDINGS_MAX_TEXTS} of them.`),
    encoding_format: z.enum(['float', 'base64']).default('float'),
    dimensions: z.int().optional().describe('Only the model’s own number.'),
    user: z.string().max(1_000).optional().describe('Taken because clients send it, and not used.'),
  }),
  output: z.object({
    object: z.literal('list'),
    data: z.array(
      z.object({
        object: z.literal('embedding'),
        index: z.int(),
        embedding: z
          .union([z.array(z.number()), z.string()])
          .describe('Numbers; or, as base64, 32-bit floats in little-endian order.'),
      }),
    ),
    model: z.string(),
    usage: z.object({
      prompt_tokens: z.int().describe('As counted against the daily allowance.'),
      total_tokens: z.int(),
    }),
  }),
  access: 'developer',
  errors: ['RATE_LIMITED', 'QUOTA_EXCEEDED', 'EMBEDDING_UNAVAILABLE', 'TIMEOUT'],
  http: { method: 'post', path: '/api/ai/v1/embeddings', maxBytes: EMBEDDINGS_MAX_BYTES },
})
