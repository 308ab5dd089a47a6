"""What every figure shows, as plain values; `figures.mpl` and `figures.plotly` draw them."""
