/** The three ways to measure nearness: operator and index of pgvector, and the score people see. */
import type { Metric } from '../../contracts/data-sources.ts'

export const OPERATORS: Record<Metric, string> = { cosine: '<=>', l2: '<->', inner_product: '<#>' }

export const OPERATOR_CLASSES: Record<Metric, string> = {
  cosine: 'vector_cosine_ops',
  l2: 'vector_l2_ops',
  inner_product: 'vector_ip_ops',
}

/** decisions: higher is always better. pgvector answers the negative inner product, so that smaller is nearer. */
export const SCORES: Record<Metric, (distance: number) => number> = {
  cosine: (distance) => 1 - distance,
  l2: (distance) => 1 / (1 + distance),
  inner_product: (distance) => -distance,
}
