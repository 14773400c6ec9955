// Finds what a mutation may remove from a file: its awaited writes, its ownership checks and its early returns.
import { type Expression, parseSync, type Statement, Visitor } from 'oxc-parser'

type MutantKind = 'awaited write' | 'ownership check' | 'early return'

/** One removal. */
export interface Mutant {
  /** From the root of the tree, with slashes. */
  readonly path: string
  readonly line: number
  readonly kind: MutantKind
  /** The first line of what is removed. */
  readonly removed: string
  readonly start: number
  readonly end: number
  /** What stands in its place. */
  readonly by: string
}

/** Awaited calls that change nothing: waits and reads. Whatever else is awaited for its own sake is taken for a write. */
const readsAndWaits =
  /^(?:all|race|condition|sleep|pause(?:For|Of|d)?|isPaused|until\w*|when\w*|waitFor|get\w*|list\w*|read\w*|live\w*|look|watch|connected|synced|catchUp|change(?:Of|Within)|refresh|check\w*|measure|poll|gone\w*|unlisted|vmGone|turnComes|nextTurn|takeTurn|tryToAsk|batchWindow|hydrate)$/

const ownership =
  /\b(?:owns|owned|owner\w*|ownership\w*|ours|foreign|belongs\w*)\b|\bis(?:Own|Ours)|\b\w*(?:Owner|Ownership)\b|(?:Uid|\buid)\)? [!=]== (?!undefined|null)|[!=]== [\w.?]*(?:Uid|\buid)\b/

const names = (text: string) => ownership.test(text)
const isForeign = (text: string) => /foreign/i.test(text)

/** All mutants of a file, in the order of its text. */
export function findMutants(path: string, text: string): readonly Mutant[] {
  const found: Mutant[] = []
  const add = (kind: MutantKind, { start, end }: { readonly start: number; readonly end: number }, by: string) => {
    // Inside of something that is removed as a whole nothing more is removed.
    if (found.some((one) => one.start <= start && end <= one.end && one.kind !== 'awaited write')) return
    const [removed = ''] = text.slice(start, end).split('\n')
    found.push({ path, line: lineAt(text, start), kind, removed, start, end, by })
  }
  new Visitor({
    ExpressionStatement: (node) => {
      if (node.expression.type !== 'AwaitExpression') return
      const called = nameOfCall(node.expression.argument)
      if (called !== undefined && !readsAndWaits.test(called)) add('awaited write', node, ';')
    },
    IfStatement: (node) => {
      if (node.alternate === null && returnsEarly(node.consequent))
        add(names(textOf(text, node.test)) ? 'ownership check' : 'early return', node, ';')
    },
    BinaryExpression: (node) => {
      const isEqual = node.operator === '==='
      if (
        (isEqual || node.operator === '!==') &&
        names(textOf(text, node)) &&
        !/undefined|null/.test(textOf(text, node))
      )
        add('ownership check', node, String(isEqual !== isForeign(textOf(text, node))))
    },
    CallExpression: (node) => {
      if (/^is(?:Own|Ours)|^owns|^isForeign/.test(nameOfCall(node) ?? ''))
        add('ownership check', node, String(!isForeign(textOf(text, node.callee))))
    },
  }).visit(parseSync(path, text).program)
  return found
}

/** A file without what a mutant removes. Lines stay where they are. */
export function mutated(text: string, { start, end, by }: Pick<Mutant, 'start' | 'end' | 'by'>): string {
  const lines = text.slice(start, end).replaceAll(/[^\n]/g, '')
  return `${text.slice(0, start)}${by}${lines}${text.slice(end)}`
}

function nameOfCall(node: Expression): string | undefined {
  if (node.type !== 'CallExpression') return undefined
  const { callee } = node
  if (callee.type === 'Identifier') return callee.name
  if (callee.type !== 'MemberExpression') return undefined
  const { property } = callee
  return 'name' in property && typeof property.name === 'string' ? property.name : undefined
}

function returnsEarly(consequent: Statement): boolean {
  const last = consequent.type === 'BlockStatement' ? consequent.body.at(-1) : consequent
  return last?.type === 'ReturnStatement' || last?.type === 'ContinueStatement'
}

const textOf = (text: string, { start, end }: { readonly start: number; readonly end: number }) =>
  text.slice(start, end)

const lineAt = (text: string, offset: number) => text.slice(0, offset).split('\n').length
