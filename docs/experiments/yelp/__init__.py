"""What training runs measured on an extract of Yelp's reviews."""
