// In what the verdicts of the two worlds differ, and which of that counts.
import type { Verdict } from './verdict.ts'

/** A difference that does not count has a reason. */
export interface Difference {
  readonly line: string
  readonly uncounted?: string
}

/** Differences that do not count, and why: what follows from how much time passes, and in single tests from what their worlds are. Each is printed. */
const known: readonly { readonly test?: RegExp; readonly line: RegExp; readonly reason: string }[] = [
  {
    line: /condition ConsistentStateFound=True\/ConsistentStateFound$/,
    reason: 'time: nodes are compared with their sizes every few minutes',
  },
  {
    line: /^only on real servers: .*: annotation joiner\.sh\/time-away$/,
    reason: 'time: a process takes seconds to start, and in virtual time none',
  },
  {
    line: /^only .*: event NodeClaim DisruptionWaitingReadiness$/,
    reason: 'time: a command says so where it looks before its replacement is ready',
  },
  {
    line: /: condition Consolidatable=True\/Consolidatable$/,
    reason: 'time: consolidateAfter has passed or not',
  },
  {
    line: /: event (?:Node|NodeClaim) (?:DisruptionBlocked|Unconsolidatable|ConsolidationRejected)$/,
    reason: 'time: a look of disruption finds a node in a state of seconds or not, and does nothing',
  },
  {
    line: /: event Node FailedDraining$/,
    reason: 'time: a drain says so while pods that it has evicted still end',
  },
  {
    line: /: written nodes aks-slow-\*: in order patch(?:, delete)?$/,
    reason:
      'chance: a Node whose NodeClaim is deleted in the foreground goes by Kubernetes or by Joiner, whichever comes first',
  },
  {
    test: /^node-pool > /,
    line: /: event NodeClaim NodeNotJoined$/,
    reason:
      'time: a claim that the scenario makes older is given up before or after a look at why its node did not join',
  },
  {
    line: /: written nodepools [\w-]+: in order (?:patch, patch status|patch status, patch)$/,
    reason: 'chance: the hash and the conditions of a NodePool are written by two activities at the same time',
  },
  {
    test: /^static-capacity > /,
    line: /: event Pod Nominated$/,
    reason: 'time: kube-scheduler binds a pod to a free static node before or after the planner has seen it',
  },
  {
    test: /^machine-mode > /,
    line: /: event NodeClaim (?:LaunchFailed|Launched)$/,
    reason: 'time: a process is killed before or after it has seen that an answer was lost',
  },
  {
    test: /^consolidation > /,
    line: /: (?:nodeclaims |nodes aks-)general-\*: annotation joiner\.sh\/(?:planned-pods|planned-pod-classes|replaces|replacement-for)$/,
    reason: 'chance: whether the last node too large goes or is replaced depends on where its pods were bound',
  },
  {
    test: /^pause > /,
    line: /: (?:VM Standard_D2ps_v5 Regular Succeeded|(?:nodeclaims |nodes aks-)general-\*|pods inflate-\*)$/,
    reason: 'time: so many NodeClaims were created when the pause came, and the scenario goes on from there',
  },
  {
    test: /^why-situations > /,
    line: /: (?:VM Standard_D2s_v5 Regular Succeeded|nodeclaims drain-[\w-]*\*|(?:written )?nodes aks-drain-[\w-]*\*)/,
    reason: 'time: a pod of a node that is deleted gets a place elsewhere where the planner looks before it is evicted',
  },
  {
    test: /^scheduling > /,
    line: /: event NodeClaim (?:Initialized|Ready)$/,
    reason: 'time: events are written at a bounded rate, and the look may come before the last ones',
  },
  {
    test: /^scheduling > /,
    line: /: written nodepools limited(?:: |$)/,
    reason: 'time: a NodePool that lives for a moment goes before or after Joiner has written its hash and conditions',
  },
  {
    line: /^only on real servers: nodes .*: condition NetworkUnavailable=False\/RouteCreated$/,
    reason: 'time: kwok writes all conditions of a kubelet with its heartbeat, ten minutes after the Node is ready',
  },
  {
    test: /^disruption-faults > a replacement that never joins: /,
    line: /^only on real servers: (?:nodeclaims|nodepools) viburnum/,
    reason: 'time: the command that is tried again has its replacement or not',
  },
  {
    test: /^scheduling > many pods /,
    line: /^only on real servers: (?:VM .*|nodeclaims .*|nodes .*|pods .*-\*)$/,
    reason: 'the scenario has a tenth of the pods in virtual time',
  },
  {
    test: /^planning-isolation > /,
    line: /: (?:VM .*|(?:nodeclaims |nodes aks-)green-\*|pods good-\*|pods hostile-\d.*)$/,
    reason: 'the scenario has fewer pods in virtual time, with a tenth of the constraints',
  },
]

/**
 * In what a test on real servers differs from its runs in virtual time, which have different seeds and servers of different speed. Where one of these
 * came to the same as the real servers, as far as objects of a name or events of a reason are concerned, chance decides, not the world.
 */
export function differencesOf(
  test: string,
  fast: readonly (Verdict | undefined)[],
  real: Verdict | undefined,
): readonly Difference[] {
  const seeds = fast.filter((verdict) => verdict !== undefined)
  if (seeds.length < fast.length) return [{ line: 'no verdict in virtual time' }]
  if (real === undefined) return [{ line: 'no verdict on real servers' }]
  const reasonOf = (line: string) => known.find((one) => one.test?.test(test) !== false && one.line.test(line))?.reason
  const [first = [], ...others] = seeds.map((verdict) => differences(verdict, real))
  const isAlike = (lines: readonly string[], line: string) =>
    lines.every((other) => about(other) !== about(line) || reasonOf(other) !== undefined)
  return [...new Set(first)].map((line) => {
    const isOfChance = others.some((lines) => isAlike(lines, line))
    const uncounted = reasonOf(line) ?? (isOfChance ? 'chance: not in each course' : undefined)
    return uncounted === undefined ? { line } : { line, uncounted }
  })
}

/** Which object, VM or event a difference is about. */
const about = (line: string) => line.split(': ')[1]

/** What only one of two verdicts has. Of two objects of one name it is the lines in which they differ. */
export function differences(fast: Verdict, real: Verdict): readonly string[] {
  const onlyReal = without(real, fast)
  const differing: string[] = []
  for (const text of without(fast, real)) {
    const [name = '', ...lines] = text.split('\n')
    const at = onlyReal.findIndex((other) => other.split('\n')[0] === name)
    if (at < 0) {
      differing.push(`only in virtual time: ${name}`)
      continue
    }
    const [other = ''] = onlyReal.splice(at, 1)
    const others = other.split('\n').slice(1)
    differing.push(...without(lines, others).map((line) => `only in virtual time: ${name}: ${line}`))
    differing.push(...without(others, lines).map((line) => `only on real servers: ${name}: ${line}`))
  }
  return [...differing, ...onlyReal.map((text) => `only on real servers: ${text.split('\n')[0]}`)]
}

/** The texts of a list that another has not, or not as often. */
function without(texts: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return texts.filter((text) => {
    const at = left.indexOf(text)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}
