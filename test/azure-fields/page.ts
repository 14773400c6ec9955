import { alignedTable } from '../../deploy/marked-table.ts'
import { facts } from './facts.ts'
import type { SentField } from './fields.ts'
import { type Judgement, keysOf } from './judge.ts'

const columns = ['Field', 'Value', 'In the models', 'Introduced', 'Proved by']

/** Returns the page: what is sent with Joiner's own versions, and what else is sent to VMs with a later one. */
export function pageOf(own: readonly Judgement[], later: readonly Judgement[]): string {
  const sent = new Set(own.flatMap(({ what, fields }) => fields.flatMap(keysOf).map((key) => `${what} ${key}`)))
  const more = later.map((one) => ({
    ...one,
    rows: one.fields.flatMap(rowsOf).filter(({ key }) => !sent.has(`${one.what} ${key}`)),
  }))
  return [
    `# Fields of requests to Azure

Written by \`npm run generate\` from the requests that Joiner makes for classes with every field, and from the type declarations of Azure's releases for npm. \`npm run generated\` fails for a field or value that the models of the API version asked for do not have.

- **Value**: of an enum. Other values are free.
- **In the models**: of the release named above the table. Where no release is for exactly the version asked for, the nearest one is compared, which is not proved.
- **Introduced**: the first API version known to have it, and what says so.
- **Proved by**: what says besides the SDK that Azure takes it in this version. The reference provider (Karpenter for Azure) sends it with the same version. "not proved": nothing but the SDK.
`,
    ...own.map((one) => sectionOf(one.what, one, one.fields.flatMap(rowsOf))),
    `## With later versions

\`azure.apiVersions\` sets another version. What else is sent from then on:
`,
    ...more
      .filter(({ rows }) => rows.length > 0)
      .map(({ rows, ...one }) => sectionOf(`${one.what} from ${one.apiVersion} on`, one, rows)),
  ].join('\n')
}

interface Row {
  readonly key: string
  readonly field: SentField
  readonly value?: string
}

function rowsOf(field: SentField): readonly Row[] {
  if (field.values.length === 0) return [{ key: field.path, field }]
  return field.values.map((value) => ({ key: `${field.path} ${value}`, field, value }))
}

function sectionOf(title: string, judgement: Judgement, rows: readonly Row[]): string {
  const { apiVersion, release, generatedFor, isExact } = judgement
  const models = isExact
    ? `Models: ${release}, generated for this version.`
    : `No release for npm was found that is generated for this version, so the models prove nothing; the nearest is ${release}, for ${generatedFor}.`
  return `## ${title}

API version ${apiVersion}. ${models}

${alignedTable(
  columns,
  rows.map((row) => cellsOf(row, judgement)),
)}`
}

function cellsOf({ key, field, value }: Row, { isExact, generatedFor, reference }: Judgement): readonly string[] {
  const fact = facts[value === undefined ? field.path : `${field.enum} ${value}`]
  const problem = field.problems.join('; ')
  const inModels = problem === '' ? 'yes' : problem
  const unknownSince = value === undefined ? '' : 'unknown'
  const proof = fact?.isProved === true ? fact.source : 'not proved'
  return [
    code(field.path),
    value === undefined ? '' : code(value),
    isExact ? inModels : `not proved; ${generatedFor}: ${inModels}`,
    fact === undefined ? unknownSince : `${fact.since} (${fact.source})`,
    reference.has(key) ? 'reference provider' : proof,
  ]
}

function code(text: string): string {
  return `\`${text}\``
}
