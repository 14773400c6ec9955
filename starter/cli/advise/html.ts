import type { PlannedDisruption } from '../../../core/disruption/plan/plan.ts'
import { counted, monthly, percent, shareText } from '../../document/words.ts'
import { type Html, html, htmlPage, htmlTable } from '../shared/html.ts'
import { yamlText } from '../shared/yaml-text.ts'
import type { Advice } from './advice.ts'
import { holderName, poolName } from './names.ts'

/** The report as a page that stands by itself. */
export function adviceHtml(advice: Advice): string {
  const sections = [
    head(advice),
    bill(advice),
    pass(advice),
    holders(advice),
    waiting(advice),
    nodePools(advice),
    list('Not read', advice.unread),
    list('Notes', advice.remarks),
  ]
  return htmlPage(`Joiner's advice on ${advice.server}`, html`${sections}`)
}

const nothing = html``

function head({ server, region, at, bill: { nodes, perHour }, pass: one, scalers }: Advice): Html {
  const saved =
    one === undefined
      ? html`<strong>unknown</strong> saved by one pass`
      : html`<strong>${monthly(one.savedPerHour)} USD</strong> a month saved by one pass${shareText(one.savedPerHour, perHour)}`
  return html`<h1>What Joiner would do</h1>
<p>${server}${region === undefined ? '' : ` in ${region}`}, <time datetime="${at}">${at.slice(0, 19)}Z</time></p>
<ul class="tiles">
<li><strong>${monthly(perHour)} USD</strong> a month for ${counted(nodes, 'node')}</li>
<li>${saved}</li>
</ul>
${htmlTable(
  ['Scaled by', 'Known by'],
  scalers.map(({ kind, evidence }) => [kind, evidence.join('; ')]),
)}
`
}

function bill({ bill: { pools }, prices }: Advice): Html {
  const most = Math.max(...pools.map(({ perHour }) => perHour), 0)
  const rows = pools.map((pool) => [
    poolName(pool),
    pool.nodes,
    pool.spot,
    percent(pool.cpuRequested),
    percent(pool.memoryRequested),
    monthly(pool.perHour),
    html`<div class="bar" style="width: ${most === 0 ? 0 : Math.round((100 * pool.perHour) / most)}%"></div>`,
    pool.sizes.map(({ size, nodes }) => `${nodes} ${size}`).join(', '),
  ])
  const columns = [
    { number: 'Nodes' },
    { number: 'Spot' },
    { number: 'CPU requested' },
    { number: 'Memory' },
    { number: 'USD a month' },
  ]
  const unpriced = pools.flatMap((pool) => pool.unpriced)
  return html`<h2>The monthly bill by pool</h2>
${htmlTable(['Pool', ...columns, 'Share', 'Sizes'], rows)}
<p class="note">Prices: ${prices.text}${prices.readAt === undefined ? '' : `, read at ${prices.readAt}`}. Disks, networks and the control plane are not in it.
${unpriced.length === 0 ? '' : `${counted(unpriced.length, 'node')} without a known price counted as nothing: ${unpriced.join(', ')}`}</p>
`
}

function pass({ pass: one }: Advice): Html {
  if (one === undefined) return nothing
  if (one.commands.length === 0)
    return html`<h2>One consolidation pass</h2><p>It would change nothing.</p>\n${staying(one)}`
  const rows = one.commands.flatMap(moves)
  const columns = [
    'Move',
    '',
    'Node',
    'NodePool',
    'Size',
    'Capacity',
    'Zone',
    { number: 'USD a month' },
    { number: 'Pods' },
  ]
  return html`<h2>One consolidation pass</h2>
<p>It would remove ${counted(one.nodesRemoved, 'node')} and add ${one.nodesAdded}: ${monthly(one.savedPerHour)} USD a month saved.${
    one.leftOut === 0 ? '' : ` ${counted(one.leftOut, 'further command')} found no room here.`
  }</p>
${htmlTable(columns, rows)}
${one.budgets.map(
  ({ nodePool, allowed, nodes, reason }) =>
    html`<p class="note">The budget of NodePool ${nodePool} allows ${allowed} of its ${counted(nodes, 'node')} at once for ${reason}; all are taken.</p>\n`,
)}${staying(one)}`
}

function staying({ staying: all }: NonNullable<Advice['pass']>): Html {
  if (all.length === 0) return nothing
  const rows = all.map((one) => [one.nodes, monthly(one.perHour), one.firstNode, one.example])
  const columns = [{ number: 'Nodes that stay' }, { number: 'USD a month' }, 'First node', 'Its cause']
  return html`${htmlTable(columns, rows)}\n`
}

function moves(command: PlannedDisruption, at: number): readonly (readonly (string | number)[])[] {
  const { candidates, replacements, reason, decision } = command
  const title = `${at + 1}. ${reason}, ${decision}`
  return [
    ...candidates.map((one) => [
      title,
      'goes',
      one.node,
      one.nodePool,
      one.instanceType,
      one.capacityType,
      one.zone,
      one.price === 0 ? 'unknown' : monthly(one.price),
      one.pods.length,
    ]),
    ...replacements.map((one) => [
      title,
      'comes',
      `new node ${one.number}`,
      one.nodePool,
      one.instanceTypes[0] ?? 'any',
      one.capacityTypes.join(', '),
      one.zones.join(', '),
      monthly(one.price),
      one.pods,
    ]),
  ]
}

function holders({ holders: all }: Advice): Html {
  if (all.length === 0) return nothing
  const rows = all.map((one) => [
    holderName(one),
    one.nodes,
    monthly(one.perHour),
    monthly(one.alonePerHour),
    one.firstNodes.join(', '),
  ])
  const columns = [
    'What',
    { number: 'Nodes' },
    { number: 'USD a month, at most' },
    { number: 'Nothing else keeps' },
    'First nodes',
  ]
  return html`<h2>What keeps nodes</h2>\n${htmlTable(columns, rows)}\n`
}

function waiting({ waiting: all }: Advice): Html {
  if (all.length === 0) return nothing
  const rows = all.map(({ count, pods, outcome, finding, funnel }) => [
    count,
    pods.join(', '),
    outcome,
    html`${finding}${funnel.map((line) => html`<br>${line}`)}`,
  ])
  return html`<h2>Pods that wait for a node</h2>\n${htmlTable([{ number: 'Pods' }, 'First', 'Outcome', 'Finding'], rows)}\n`
}

function nodePools({ nodePools: all }: Advice): Html {
  if (all.length === 0) return nothing
  const shown = all.map(
    ({ name, notes, nodePool, nodeClass }) => html`<details><summary>NodePool ${name}: ${notes.join('; ')}</summary>
<pre>${lines(`${yamlText(nodePool)}---\n${yamlText(nodeClass)}`)}</pre></details>\n`,
  )
  return html`<h2>NodePools in place of agent pools</h2>\n${shown}`
}

/** Line feeds of a text stay what they are. */
function lines(text: string): readonly Html[] {
  return text.split('\n').map((line) => html`${line}\n`)
}

function list(title: string, all: readonly string[]): Html {
  return all.length === 0 ? nothing : html`<h2>${title}</h2>\n<ul>${all.map((one) => html`<li>${one}</li>\n`)}</ul>\n`
}
