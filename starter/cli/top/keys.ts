import { type Selection, type SortKey, sortKeys } from './columns.ts'

/** What a user has chosen. */
export interface TopState extends Selection {
  readonly isTyping: boolean
  readonly offset: number
}

/** A key as `readline` names it. */
export interface Key {
  readonly name?: string | undefined
  readonly sequence?: string | undefined
  readonly ctrl?: boolean | undefined
  readonly meta?: boolean | undefined
}

/** What is on the screen. */
export interface Shown {
  readonly page: number
  readonly count: number
  readonly offset: number
  /** Names of NodePools; '' where nodes have none. */
  readonly nodePools: readonly string[]
}

const longestFilter = 100

/** Returns the state after a key; `quit` and `suspend` end or stop the command. */
export function pressed(state: TopState, key: Key, shown: Shown): TopState | 'quit' | 'interrupt' | 'suspend' {
  if (key.ctrl === true && key.name === 'c') return 'interrupt'
  if (key.ctrl === true && key.name === 'z') return 'suspend'
  if (state.isTyping) return typed(state, key)
  if (key.sequence === 'q') return 'quit'
  const scrolled = scrolledTo(key, shown)
  if (scrolled !== undefined) return { ...state, offset: Math.max(0, Math.min(scrolled, shown.count - shown.page)) }
  switch (key.sequence) {
    case 's':
      return { ...state, sort: nextOf(sortKeys, state.sort, 1), offset: 0 }
    case 'S':
      return { ...state, sort: nextOf(sortKeys, state.sort, -1), offset: 0 }
    case 'r':
      return { ...state, isReversed: !state.isReversed, offset: 0 }
    case 'p':
      return withNodePool(state, shown.nodePools)
    case '/':
      return { ...state, isTyping: true }
    default:
      return key.name === 'escape' ? { ...state, filter: '', offset: 0 } : state
  }
}

function scrolledTo({ name, sequence }: Key, { page, count, offset }: Shown): number | undefined {
  if (name === 'up' || sequence === 'k') return offset - 1
  if (name === 'down' || sequence === 'j') return offset + 1
  if (name === 'pageup' || sequence === 'b') return offset - page
  if (name === 'pagedown' || sequence === ' ') return offset + page
  if (name === 'home' || sequence === 'g') return 0
  if (name === 'end' || sequence === 'G') return count
  return undefined
}

function nextOf(all: readonly SortKey[], one: SortKey, step: number): SortKey {
  return all[(all.indexOf(one) + step + all.length) % all.length] ?? one
}

/** All, then each NodePool in turn. */
function withNodePool({ nodePool: before, ...state }: TopState, nodePools: readonly string[]): TopState {
  const next = nodePools[before === undefined ? 0 : nodePools.indexOf(before) + 1]
  return { ...state, ...(next === undefined ? {} : { nodePool: next }), offset: 0 }
}

function typed(state: TopState, { name, sequence = '', ctrl, meta }: Key): TopState {
  if (name === 'escape') return { ...state, isTyping: false, filter: '', offset: 0 }
  if (name === 'return' || name === 'enter') return { ...state, isTyping: false }
  if (name === 'backspace') return { ...state, filter: state.filter.slice(0, -1), offset: 0 }
  const isText = ctrl !== true && meta !== true && /^[\x20-\x7e]$/.test(sequence)
  return isText ? { ...state, filter: `${state.filter}${sequence}`.slice(0, longestFilter), offset: 0 } : state
}
