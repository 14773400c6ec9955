interface Props {
  readonly name: string
  readonly value: string
  readonly more?: string
  readonly isLoud?: boolean
}

/** One number of a list of numbers. */
export function Figure({ name, value, more, isLoud = false }: Props) {
  return (
    <div class="figure" data-loud={isLoud}>
      <dt>{name}</dt>
      <dd class="number">{value}</dd>
      {more !== undefined && <dd class="more">{more}</dd>}
    </div>
  )
}
