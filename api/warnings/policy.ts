/**
 * Warnings for objects that Karpenter's API accepts and that cannot work here, have no effect, or do what their author hardly meant. One table for
 * `kubectl apply` (the chart's admission policies are generated from it) and for `joiner validate`. Nothing is refused.
 */
export interface WarningPolicy {
  readonly name: string
  readonly about: readonly WarnedKind[]
  /** CEL over `object`: the policy applies only where all of them hold. */
  readonly matchConditions?: Named
  /** CEL by the name under `variables` that the warnings use. */
  readonly variables?: Named
  readonly warnings: readonly Warning[]
}

interface WarnedKind {
  readonly apiGroup: string
  /** `*`: any version. */
  readonly apiVersions: readonly string[]
  readonly kind: string
}

export type Named = Readonly<Record<string, string>>

export interface Warning {
  /** CEL over `object` and `variables`: true where there is nothing to warn of. One that fails gives no warning. */
  readonly holds: string
  /** CEL: the text, with field, value and remedy. */
  readonly message: string
  /**
   * `noEffect`: nodes are the same without the field; `notReady`: no node is created; `unlimited`: any number of nodes may be disrupted at once. Tests
   * compare the first with the inputs of nodes.
   */
  readonly because: 'noEffect' | 'notReady' | 'unlimited'
  /** A value of the chart for which the warning does not apply. */
  readonly unlessChartValue?: string
}

/** Returns a CEL text literal. */
export const text = (value: string) => `'${value.replaceAll(/[\\']/g, (character) => `\\${character}`)}'`

/** Returns a CEL list of texts. */
export const texts = (values: readonly string[]) => `[${values.map(text).join(', ')}]`
