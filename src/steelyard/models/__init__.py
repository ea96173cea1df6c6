"""What the saved model needs to meet new data: columns, encoders, files and the model itself."""
