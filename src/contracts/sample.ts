/** The sample data source that a first start loads, and a question that it answers. */
export const SAMPLE_DATABASE = 'sample'
export const SAMPLE_SOURCE = `db_${SAMPLE_DATABASE}`
export const SAMPLE_QUESTION = 'May I work from Spain for a month?'
