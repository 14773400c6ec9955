import { stringify } from 'yaml'
import { nodePool, standaloneClaim } from '../applied-objects.ts'
import { hostileClaims } from './claims.ts'
import { hostileClasses } from './classes.ts'
import { expensivePods } from './expensive-pods.ts'
import type { HostileFile, HostileObject } from './hostile-object.ts'
import { hostilePods } from './pods.ts'
import { hostilePools } from './pools.ts'
import { brokenValues, deepJson, prototypeNames, times } from './texts.ts'

type NamedText = readonly [what: string, content: string | Uint8Array]

/** The most that a file of this suite has, in bytes. */
export const mostBytes = 1_000_000

/** Aliases of aliases: lines that stand for 9 to the power of `levels` values. */
function aliasBomb(levels: number): string {
  const lines = times(levels, (i) => `l${i + 1}: &l${i + 1} [${times(9, () => `*l${i}`).join(', ')}]`)
  return `l0: &l0 [x, x, x, x, x, x, x, x, x]\n${lines.join('\n')}\n`
}

function yaml(): readonly NamedText[] {
  const head = 'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: x}\n'
  return [
    ['an alias bomb', aliasBomb(9)],
    ['an alias bomb in a spec', `${head}spec:\n  bomb:\n${aliasBomb(8).replaceAll(/^(?=.)/gm, '    ')}`],
    ['a spec that is itself', `${head}spec: &self\n  template: *self\n`],
    ['a key that is its own value', `${head}spec: &self {? *self : *self}\n`],
    ['merges of merges', `a: &a {b: 1}\nc: &c\n${'  <<: *a\n'.repeat(5000)}`],
    ['20,000 levels of lists', '['.repeat(20_000) + ']'.repeat(20_000)],
    ['20,000 levels of objects', deepJson],
    ['500 KB of dashes', '- '.repeat(250_000)],
    ['no end', '{"kind": "NodePool"'],
    ['a text without its end', `${head}spec: "`],
    ['nothing', ''],
    ['a NUL', 'kind: \u0000NodePool'],
    ['a byte order mark and tabs', '\ufeff\tkind:\tNodePool'],
    ['10,000 documents', '---\nkind: NodePool\n'.repeat(10_000)],
    ['a tag of JavaScript', 'kind: !!js/function "process.exit()"\n'],
    ['a number', '42'],
    ['a list of nulls', '[null, null]'],
    ['a list in a list', 'apiVersion: v1\nkind: List\nitems: {kind: List, items: 7}\n'],
    ['bytes that are no text', Uint8Array.from({ length: 4096 }, (_, i) => (i * 89) % 256)],
    ['text in UTF-16', Uint8Array.from(Buffer.from(`\ufeff${head}`, 'utf16le'))],
  ]
}

function values(): readonly NamedText[] {
  const pool = nodePool()
  const budget = (schedule: string) => {
    const disruption = { ...pool.spec.disruption, budgets: [{ nodes: '1', schedule, duration: '1h' }] }
    return stringify({ ...pool, spec: { ...pool.spec, disruption } })
  }
  const asking = (cpu: string) => stringify(standaloneClaim('x', { resources: { requests: { cpu } } }))
  return [
    ['a schedule of 100 KB', budget('* '.repeat(50_000))],
    ['a schedule of blanks', budget(`a${' '.repeat(100_000)}b`)],
    ['a quantity of 100,000 digits', asking('9'.repeat(100_000))],
    ['a quantity with an exponent', asking('1e999999999')],
    ['a name of 500 KB', stringify(standaloneClaim('x'.repeat(500_000)))],
    ...prototypeNames.map(
      (name): NamedText => [
        `the key ${name}`,
        `apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: x\n  annotations: {"${name}": y}\n${name}: {a: b}\nspec:\n  ${name}: 1\n`,
      ],
    ),
    ...prototypeNames.map((name): NamedText => [`the kind ${name}`, `apiVersion: v1\nkind: ${name}\nmetadata: {}\n`]),
    ...Object.entries(brokenValues).map(
      ([what, value]): NamedText => [
        `a name with ${what}`,
        stringify({ ...pool, metadata: { name: value, labels: { x: value } } }),
      ],
    ),
  ]
}

/** What is sent to the API server as well, as a dump of a cluster in which it waits for a node. */
function dumps(): readonly NamedText[] {
  const waiting = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] }
  const costs = new Set(expensivePods().map(([what]) => what))
  const dump = (objects: readonly HostileObject[]) => {
    const items = objects.map(({ kind, body }) => (kind === 'Pod' ? { ...body, status: waiting } : body))
    return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [nodePool(), ...items] })
  }
  const pods = hostilePods()
  const lists: readonly NamedText[] = [
    ['the hostile NodePools', dump(parts(hostilePools()))],
    ['the hostile NodeClaims', dump(parts(hostileClaims()))],
    ['the hostile AKSNodeClasses', dump(parts(hostileClasses()))],
    ['the hostile pods of little cost', dump(pods.filter(({ what }) => !costs.has(what)))],
  ]
  const expensive = pods.filter(({ what }) => costs.has(what))
  return [...expensive.map((pod): NamedText => [`a pod that ${pod.what}`, dump([pod])]), ...lists]
}

/** Without those that fill a file alone. */
const parts = (objects: readonly HostileObject[]) => objects.filter(({ body }) => JSON.stringify(body).length < 20_000)

/** Files for `joiner validate`, `convert` and `simulate`, each of less than a megabyte. */
export function hostileFiles(): readonly HostileFile[] {
  return [...yaml(), ...values(), ...dumps()].map(([what, content]) => ({
    kind: 'file',
    what,
    bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content,
  }))
}
