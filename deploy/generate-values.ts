// The page docs/values.md, from the chart's schema (names, forms), its values.yaml (defaults, and what each value is) and what was measured.
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml'
import { alignedTable } from './marked-table.ts'
import { measured, usageTable } from './measured-usage.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly definitions?: Readonly<Record<string, Schema>>
}

interface Value {
  readonly form: string
  readonly about: string
  readonly default: string
}

/** What values.yaml has of a key: its default, as JSON, and the comment above it. */
interface Given {
  readonly default: string
  readonly about: string
}

/** What is said of the members of a list or a map of resources by their parent alone. */
const ends = new Set(['resources', 'affinity', 'topologySpreadConstraints'])

function givenValues(text: string): ReadonlyMap<string, Given> {
  const given = new Map<string, Given>()
  const visit = (map: YAMLMap, prefix: string, inherited: string): void => {
    for (const [index, pair] of map.items.entries()) {
      const { key, value } = pair
      if (!isScalar(key)) continue
      const name = `${prefix}${String(key.value)}`
      const above = key.commentBefore ?? (index === 0 ? inherited : '')
      const about = lastParagraph(above)
      given.set(name, { about, default: JSON.stringify((value as { toJSON(): unknown } | null)?.toJSON() ?? null) })
      if (isMap(value)) visit(value, `${name}.`, value.commentBefore ?? '')
    }
  }
  const document = parseDocument(text)
  if (!isMap(document.contents)) throw new Error('deploy/chart/values.yaml: is not a map')
  visit(document.contents, '', document.commentBefore ?? document.contents.commentBefore ?? '')
  return given
}

/** The comment of a key is its last paragraph: one before it is about what follows as a whole. */
function lastParagraph(comment: string): string {
  const paragraphs = comment.split(/\n\s*\n/)
  return (paragraphs.at(-1) ?? '')
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .trim()
}

function formOf(schema: Schema, all: Schema): string {
  if (schema.$ref !== undefined) return formOf(resolved(schema, all), all)
  if (schema.enum !== undefined) return schema.enum.map((each) => `\`${JSON.stringify(each)}\``).join(', ')
  if (schema.oneOf !== undefined) return schema.oneOf.map((each) => formOf(each, all)).join(' or ')
  if (schema.allOf !== undefined) return formOf(schema.allOf[0] ?? {}, all)
  const type = [schema.type ?? 'any'].flat().join(' or ')
  if (schema.items !== undefined && type.startsWith('array')) return `list of ${formOf(schema.items, all)}`
  const bounds = [
    ...(schema.minimum === undefined ? [] : [`at least ${schema.minimum}`]),
    ...(schema.maximum === undefined ? [] : [`at most ${schema.maximum}`]),
  ]
  const names: Readonly<Record<string, string>> = {
    object: 'map',
    boolean: 'true or false',
    string: 'text',
    array: 'list',
  }
  return [names[type] ?? type, ...bounds].join(', ')
}

function resolved(schema: Schema, all: Schema): Schema {
  const name = schema.$ref?.replace('#/definitions/', '')
  const found = name === undefined ? schema : all.definitions?.[name]
  if (found === undefined) throw new Error(`deploy/chart/values.schema.json: ${schema.$ref} is not defined`)
  return schema.description === undefined ? found : { ...found, description: schema.description }
}

/** Every value of the schema that is not only a group of others. Errors: values without a word about them. */
function documented(schemaText: string, valuesText: string): ReadonlyMap<string, Value> {
  const all = JSON.parse(schemaText) as Schema
  const given = givenValues(valuesText)
  const found = new Map<string, Value>()
  const silent: string[] = []
  const visit = (schema: Schema, name: string, about: string): void => {
    const inner = resolved(schema, all)
    const own = inner.description ?? given.get(name)?.about ?? ''
    const last = name.split('.').at(-1) ?? ''
    if (inner.properties !== undefined && !ends.has(last)) {
      for (const [key, each] of Object.entries(inner.properties))
        visit(each, name === '' ? key : `${name}.${key}`, own === '' ? about : own)
      return
    }
    const said = own === '' ? about : own
    if (said === '') silent.push(name)
    found.set(name, { form: formOf(inner, all), about: said, default: given.get(name)?.default ?? '' })
  }
  visit(all, '', '')
  const unknown = [...given.keys()].filter((name) => !covers(found, name))
  const problems = [
    ...silent.map((name) => `values.yaml has no comment for ${name}, nor has the schema a description`),
    ...unknown.map((name) => `${name} of values.yaml is not in the schema`),
  ]
  if (problems.length > 0) throw new Error(`deploy/chart: ${problems.join('; ')}`)
  const order = [...given.keys()]
  return new Map([...found].toSorted(([a], [b]) => place(order, a) - place(order, b)))
}

/** Values that values.yaml does not have come last. */
function place(order: readonly string[], name: string): number {
  const at = order.indexOf(name)
  return at < 0 ? order.length : at
}

/** Whether a name is in the table, is a group of names there, or lies within one. */
function covers(found: ReadonlyMap<string, Value>, name: string): boolean {
  return [...found.keys()].some((each) => each === name || each.startsWith(`${name}.`) || name.startsWith(`${each}.`))
}

const head = `# Values of the chart

Generated from \`deploy/chart/values.schema.json\`, \`deploy/chart/values.yaml\` and \`deploy/measured-usage.ts\` by \`npm run generate\`; edit them there.

## Which profile

Start with \`profile: single\` up to 200 nodes: one pod with all roles, which requests 250m CPU and 384 MiB. Leave it out for more nodes, and where each process shall have the rights of its roles alone ([security.md](security.md#who-may-do-what)): four Deployments of two replicas request 0.66 CPU and 2.25 GiB. The bundled Temporal requests 100m CPU and 256 MiB besides. \`helm upgrade\` changes from one to the other; old API versions are not converted until the new pods are ready.

Requests and limits go by what one process took on two cores beside a simulated cluster (\`npm run bench -- NAME\`, [method](benchmarks.md#method)). Empty cells were not measured.

${usageTable(measured)}
Values of Karpenter's charts are among those below; [karpenter-settings.md](karpenter-settings.md) says what became of each.

`

/** Sections of the page, with the first words of their values. What is in none is in the last one. */
const sections: readonly (readonly [title: string, keys: readonly string[]])[] = [
  ['Processes', ['profile', 'replicas', 'controller', 'core', 'planner', 'provider', 'conversion', 'strategy']],
  ['Cluster and identity', ['cluster', 'serviceAccount', 'workloadIdentity', 'additionalClusterRoleRules']],
  ['Image', ['image', 'imagePullPolicy', 'imagePullSecrets', 'global']],
  ['Temporal', ['temporal']],
  ['Settings', ['settings']],
  ['Azure', ['azure']],
  [
    'Metrics, logs and traces',
    [
      'metrics',
      'serviceMonitor',
      'traces',
      'logLevel',
      'logConfig',
      'logEncoding',
      'logOutputPaths',
      'logErrorOutputPaths',
    ],
  ],
  ['The page of joiner ui', ['ui']],
  ['Network', ['networkPolicy', 'flowControl', 'hostNetwork', 'dnsPolicy', 'dnsConfig', 'service', 'webhook']],
  ['CRDs and admission', ['crds', 'admissionWarnings', 'nodeIdentityPolicy']],
  ['Pods and names', []],
]

const columns = ['Value', 'Form', 'Default', 'What it is'] as const

/** The page docs/values.md. Errors: a value that nothing is said about, or that only one of both files has. */
export function valuesPage(schemaText: string, valuesText: string): string {
  const values = [...documented(schemaText, valuesText)]
  const rowsOf = (title: string) =>
    values
      .filter(([name]) => sectionOf(name) === title)
      .map(([name, value]) => [`\`${name}\``, cell(value.form), defaultText(value.default), cell(value.about)])
  const parts = sections
    .map(([title]) => [title, rowsOf(title)] as const)
    .filter(([, rows]) => rows.length > 0)
    .map(([title, rows]) => `## ${title}\n\n${alignedTable(columns, rows)}`)
  return `${head}${parts.join('\n')}`
}

function sectionOf(name: string): string | undefined {
  const [first = ''] = name.split('.')
  return (sections.find(([, keys]) => keys.includes(first)) ?? sections.at(-1))?.[0]
}

/** Longer defaults are in values.yaml. */
const mostCharacters = 60

function defaultText(json: string): string {
  if (json === '' || json === 'null') return ''
  return json.length > mostCharacters ? 'see values.yaml' : `\`${cell(json)}\``
}

const cell = (text: string) => text.replaceAll('|', '\\|')
